"""Run an agent of Claude Code as it is: what its file takes away is kept, and what does not hold here is reported."""

from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from ohm_subagents import Ohm

REVIEWER = """---
name: reviewer
description: Reviews a change: use it before a merge.
tools: Read, Grep, Bash(git diff:*)
model: sonnet
color: blue
---
Report only what is wrong, each with path:line.
"""


async def main(home: Path) -> None:
    folder = home / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "reviewer.md").write_text(REVIEWER)
    subagents = {"agentFiles": ["claude"], "modelAliases": {"sonnet": "anthropic/claude-sonnet-5-5"}}
    config = {"subagentBackend": "none", "subagents": subagents}
    (project := home / "project").mkdir()
    async with Ohm.open(cwd=project, env={"HOME": str(home)}, config=config) as ohm:
        agent = next(one for one in ohm.profiles if one.id == "reviewer")
        print(agent.tools.allowed, agent.model)
        for one in ohm.diagnostics:
            print(f"line {one.line}, {one.severity}: {one.subject}")
        done = (await ohm.run("reviewer", "Look at the last commit.")).unwrap()
        print(done.status, *(done.diagnostics or ()))


with TemporaryDirectory() as folder:
    anyio.run(main, Path(folder))

# Prints:
# ('read', 'grep', 'bash') anthropic/claude-sonnet-5-5
# line 3, info: front matter
# line 6, info: color
# succeeded
