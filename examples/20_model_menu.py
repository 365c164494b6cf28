"""A menu of models: a call chooses by name, and the next model of a list does what one cannot do.

Needs no key and no network: a scripted backend plays a model whose quota is used up, and one that answers.
"""

import anyio

from ohm_subagents import ErrorCode, Ohm, OhmError
from ohm_subagents.testing import ScriptedBackend, Step

CONFIG = {
    "subagentBackend": "scripted",
    "subagents": {
        "models": {
            "fast": {"model": "openai/gpt-5-mini", "fallback": ["deep"]},
            "deep": {"model": "anthropic/claude-sonnet-5-5", "thinking": "high"},
        },
    },
}
QUOTA = OhmError(code=ErrorCode.PROVIDER_QUOTA_EXCEEDED, message="The quota of the account is used up.")


async def main() -> None:
    backend = ScriptedBackend(Step(error=QUOTA), "In src/ohm_subagents/_views/answer.py.")
    async with Ohm.open(config=CONFIG, plugins=[backend]) as ohm:
        envelope = (await ohm.run("oracle", "Where is an answer truncated?", model="fast")).unwrap()
        print(envelope.output)
        for one in envelope.models_used or ():
            print(f"{one.model}: {one.why}")


anyio.run(main)

# Prints:
# In src/ohm_subagents/_views/answer.py.
# openai/gpt-5-mini: asked as fast
# anthropic/claude-sonnet-5-5:high: quota of openai/gpt-5-mini
