"""Todo lists as text: the names of the tools, the marks of the items, and a list written and read."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from ohm_subagents.views import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

WRITE: Final = "write_todos"
LIST: Final = "list_todos"
EDIT: Final = "edit_todos"

Status = Literal["not_started", "in_progress", "completed", "abandoned"]
ICONS: Final[Mapping[Status, str]] = MappingProxyType(
    {"not_started": "–", "in_progress": "●", "completed": "✓", "abandoned": "✗"}  # noqa: RUF001  the documented dash
)
FINISHED: Final = frozenset[Status]({"completed", "abandoned"})
NONE: Final = "No todos"


def todo_line(text: str) -> str:
    """Return the text of an item as it is written: within one line, which no other item can be mistaken for."""
    return " ".join(printable(text).replace("\t", " ").splitlines())


def list_text(items: Iterable[tuple[int, Status, str]]) -> str:
    """Write one line for each item, given as its index, status and text; `No todos` for none."""
    return "\n".join(f"{ICONS[status]} [{index}] {todo_line(text)}" for index, status, text in items) or NONE


def items_in(text: str) -> Iterator[tuple[Status, str]]:
    """Yield status and text of each item in a list that `list_text` wrote."""
    statuses: dict[str, Status] = {icon: status for status, icon in ICONS.items()}
    for index, line in enumerate(text.split("\n")):
        mark, is_item, label = line.partition(f" [{index}] ")
        if is_item and mark in statuses:
            yield statuses[mark], label
