"""The system prompt of an agent: its place, role, constraints, tools, task, and how to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_BOUNDARY: Final = """\
You are a subagent: you do one task that another agent has delegated to you.
- You are not the orchestrator. Do this task and nothing beside it.
- You cannot delegate: never call a tool named `subagent`, and start no other agent."""
_READONLY: Final = "- You only read. Change no file, run nothing that changes anything, and describe changes instead."
_WRITING: Final = "- You may change files where the task asks for it. Name every file that you have changed."
_RESPONSE: Final = """\
- Only your last message reaches the agent that asked. Make it complete, and begin with the answer.
- Give evidence: paths with lines, addresses, commands and what they said.
- Say what you could not find out or do."""


def child_prompt(
    *,
    agent: str,
    role: str,
    task: str,
    tools: Iterable[str] | None,
    is_readonly: bool,
    depth: int,
    max_depth: int,
) -> str:
    """Write the prompt of a subagent at this depth; `tools` is None where nothing restricts them."""
    listed = "- all that the runtime has" if tools is None else "\n".join(f"- {tool}" for tool in tools) or "- none"
    return "\n\n".join(
        (
            _BOUNDARY,
            f"# Agent: {agent}",
            role.strip() or "You do the delegated task.",
            f"# Operating constraints\n\n{_READONLY if is_readonly else _WRITING}\n- Depth: {depth} of {max_depth}",
            f"# Available tools\n\n{listed}",
            f"# Delegated task\n\n{task}",
            f"# Response requirements\n\n{_RESPONSE}",
        )
    )
