"""The todo list of a subagent as the plan that an editor shows; pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from acp.schema import AgentPlanUpdate, PlanEntry

from ohm_subagents.views import arguments_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from acp.schema import PlanEntryStatus

_TODOS: Final = frozenset({"write_todos", "edit_todos", "list_todos"})
_ITEM: Final = re.compile(r"^(–|●|✓|✗) \[\d+\] (.*)$", re.MULTILINE)  # noqa: RUF001  the dash that the list has
_MARKS: Final[Mapping[str, PlanEntryStatus]] = {"–": "pending", "●": "in_progress", "✓": "completed"}  # noqa: RUF001  as above
_STATUSES: Final[Mapping[str, PlanEntryStatus]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
}


def plan_of_result(tool: str, text: str) -> AgentPlanUpdate | None:
    """Return the list that a tool of the suite `todos` answered with; abandoned items are no part of a plan."""
    if tool not in _TODOS:
        return None
    found: list[tuple[str, str]] = _ITEM.findall(text)
    return _plan((label, _MARKS.get(mark)) for mark, label in found) if found else None


def plan_of_call(tool: str, arguments: str) -> AgentPlanUpdate | None:
    """Return the list that a command-line agent writes by a tool of its own, such as `TodoWrite`."""
    todos = arguments_in(arguments).get("todos") if tool.casefold() == "todowrite" else None
    if not isinstance(todos, list):
        return None
    items = (each for each in todos if isinstance(each, dict))
    return _plan((f"{each.get('content', '')}", _STATUSES.get(f"{each.get('status')}")) for each in items)


def _plan(items: Iterable[tuple[str, PlanEntryStatus | None]]) -> AgentPlanUpdate:
    entries = [PlanEntry(content=text, priority="medium", status=status) for text, status in items if status]
    return AgentPlanUpdate(session_update="plan", entries=entries)
