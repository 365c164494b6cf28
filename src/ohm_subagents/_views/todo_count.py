"""The progress of a sub-agent's todo list, read from the answers of its todo tools."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

TODO_TOOLS: Final = frozenset({"write_todos", "list_todos", "edit_todos"})
_IS_FINISHED: Final[Mapping[str, bool]] = MappingProxyType(
    {"–": False, "●": False, "✓": True, "✗": True}  # noqa: RUF001  the documented dash
)
_NONE: Final = "No todos"
_REFUSED: Final = "Error: "


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoCount:
    """The size and the progress of a todo list."""

    total: int
    """The number of items."""
    completed: int
    """The number of items that are completed or abandoned."""


def todos_in(answer: str) -> TodoCount | None:
    """Count the items in the answer of a todo tool; None if it shows no list, as that of a refused call.

    The answer alone is enough: neither earlier calls nor the rules of the tools are needed.
    """
    if answer.startswith(_REFUSED):
        return None
    finished: list[bool] = []
    lines = answer.split("\n")
    for line in lines:
        mark, is_next, _ = line.partition(f" [{len(finished)}]")
        if is_next and mark in _IS_FINISHED:
            finished.append(_IS_FINISHED[mark])
    if not finished and lines[-1] != _NONE:
        return None
    return TodoCount(total=len(finished), completed=sum(finished))
