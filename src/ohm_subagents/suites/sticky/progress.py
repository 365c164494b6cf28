"""How far an agent is, for whoever waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.views import one_line, tool_rows

if TYPE_CHECKING:
    from ohm_subagents.suite import Task

RUNNING: Final = "(running...)"
_TAIL_CHARS: Final = 2000
_ROWS: Final = 4


def said_so_far(task: Task | None) -> str:
    """The newest of what it said, and below that of what it did."""
    if task is None:
        return RUNNING
    rows = [one_line(row) for row in tool_rows(task)[-_ROWS:]]
    return "\n".join(filter(None, (task.text[-_TAIL_CHARS:].strip(), *rows))) or RUNNING
