"""Run one agent of a project, which may only read; the answer and the record hold no secrets."""

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
        print(tool.render_call({"agent": "auditor"}), "->", done.details["mode"], "error" in done.details)
        (record,) = (folder / "conversation").rglob("session.jsonl")
        _, *messages = map(json.loads, record.read_text().splitlines())
        print([message["message"]["role"] for message in messages])
        print(messages[0]["message"]["content"][0]["text"])
        print(done.render().count(env["ACME_TOKEN"]))

        lost = await ohm.call("subagent", {"agent": "no-such-agent", "task": "Anything."})
        print(lost.render())


with TemporaryDirectory() as folder:
    anyio.run(main, Path(folder))

# Prints:
# subagent auditor -> single False
# ['user', 'assistant']
# Is [REDACTED] in a file?
# 0
# ✗ Unknown agent: no-such-agent. Available agents: explorer, researcher, reviewer, implementer, tester, auditor
