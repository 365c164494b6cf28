"""Run parallel subagents: with an agent profile, with a file before the prompt, and in a session that goes on."""

from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from ohm_subagents import Ohm

REVIEWER = """---
name: reviewer
tools: read, grep
---
You review code. Report only what is wrong.
"""


async def main(folder: Path) -> None:
    (folder / "agent-profiles").mkdir()
    (folder / "agent-profiles" / "reviewer.md").write_text(REVIEWER)
    (folder / "routes.py").write_text("ROUTES = {}\n")
    env = {"PI_CODING_AGENT_DIR": str(folder)}
    async with Ohm.open(cwd=folder, env=env, config={"subagentBackend": "none"}, suites=["delegate"]) as ohm:
        review = {"name": "routes", "prompt": "Review the routes.", "profile": "reviewer", "files": ["routes.py"]}
        lost = {"name": "lost", "prompt": "Anything.", "profile": "no-such-profile"}
        done = await ohm.call("delegate_to_subagents", {"tasks": [review, lost]})
        for line in done.text.splitlines():
            print(line.partition(" (session")[0])

        session = done.text.partition("(session: ")[2][:16]
        again = {"name": "more", "prompt": "And the tests?", "resume": session}
        await ohm.call("delegate_to_subagents", {"tasks": [again]})
        output = await ohm.call("get_subagent_output", {"sessionId": session})
        print(output.details["runCount"], output.details["status"])
        print((await ohm.call("list_subagent_profiles", {})).text)


with TemporaryDirectory() as folder:
    anyio.run(main, Path(folder))

# Prints:
# ✓ routes: completed
# ✗ lost: error — Unknown profile: "no-such-profile". Available profiles: reviewer
# 2 completed
# profile: reviewer, custom-system-prompt, tools=[read,grep]
