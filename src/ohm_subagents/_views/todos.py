"""Todo lists as text: write one for the todo tools, and count the items of one in their answers."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from ohm_subagents._views.cells import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

WRITE: Final = "write_todos"
LIST: Final = "list_todos"
EDIT: Final = "edit_todos"
TODO_TOOLS: Final = frozenset({WRITE, LIST, EDIT})

Status = Literal["not_started", "in_progress", "completed", "abandoned"]
ICONS: Final[Mapping[Status, str]] = MappingProxyType(
    {"not_started": "–", "in_progress": "●", "completed": "✓", "abandoned": "✗"}  # noqa: RUF001  the documented dash
)
FINISHED: Final = frozenset[Status]({"completed", "abandoned"})
NONE: Final = "No todos"
_IS_FINISHED: Final[Mapping[str, bool]] = MappingProxyType({ICONS[status]: status in FINISHED for status in ICONS})
_REFUSED: Final = "Error: "


def todo_line(text: str) -> str:
    """The text of an item as it is written: within one line, which no other item can be mistaken for."""
    return " ".join(printable(text).replace("\t", " ").splitlines())


def list_text(items: Iterable[tuple[int, Status, str]]) -> str:
    """One line an item, of which there are the index, the status and the text; or `No todos`."""
    return "\n".join(f"{ICONS[status]} [{index}] {todo_line(text)}" for index, status, text in items) or NONE


def items_in(text: str) -> Iterator[tuple[Status, str]]:
    """Status and text of each item in a list that `list_text` wrote."""
    statuses: dict[str, Status] = {icon: status for status, icon in ICONS.items()}
    for index, line in enumerate(text.split("\n")):
        mark, is_item, label = line.partition(f" [{index}] ")
        if is_item and mark in statuses:
            yield statuses[mark], label


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoCount:
    """The number of items, and of those that are completed or abandoned."""

    total: int
    completed: int


def count_in(answer: str) -> TodoCount | None:
    """Count the items in the answer of a todo tool; None if it shows no list, say because the call is refused.

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
    if not finished and lines[-1] != NONE:
        return None
    return TodoCount(total=len(finished), completed=sum(finished))
