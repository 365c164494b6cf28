"""One task for one agent: a project's own agent that only reads, and an answer without secrets."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from ohm_subagents import Ohm
from ohm_subagents.testing import MemoryHost

AUDITOR = """---
name: auditor
description: Looks for what must not be in a repository.
tools: read, grep, bash
---
You look for keys and passwords.
"""


async def main(folder: Path) -> None:
    (folder / ".pi" / "agents").mkdir(parents=True)
    (folder / ".pi" / "agents" / "auditor.md").write_text(AUDITOR)
    env = {"PI_CODING_AGENT_DIR": str(folder / "home"), "ACME_TOKEN": "token-of-the-user"}
    config, host = {"subagentBackend": "none"}, MemoryHost(file=folder / "conversation.jsonl")
    async with Ohm.open(cwd=folder, env=env, config=config, suites=["single"], host=host) as ohm:
        tool = ohm.tools["subagent"]
        ask = {"agent": "auditor", "task": f"Is {env['ACME_TOKEN']} in a file?"}
        done = await ohm.call("subagent", ask)
        (result,) = done.details["results"]
        print(tool.render_call(ask), "exit code", result["exitCode"])
        print(result["task"])
        records = Path(result["sessionFile"]).read_text().splitlines()[1:]
        print([json.loads(record)["message"]["role"] for record in records])
        print(done.render().count(env["ACME_TOKEN"]))

        lost = await ohm.call("subagent", {"agent": "nobody", "task": "Anything."})
        print(lost.render())


with TemporaryDirectory() as folder:
    anyio.run(main, Path(folder))

# Prints:
# subagent auditor exit code 0
# Is [REDACTED] in a file?
# ['user', 'assistant']
# 0
# ✗ Unknown agent: nobody. Available agents: explorer, researcher, reviewer, implementer, tester, auditor
