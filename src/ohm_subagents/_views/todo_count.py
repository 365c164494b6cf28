"""How far a list of todos is, from the calls of the todo tools (000, TUI Rendering; 002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

WRITE: Final = "write_todos"
EDIT: Final = "edit_todos"
TODO_TOOLS: Final = frozenset({WRITE, EDIT})
_REFUSED: Final = "Error: "


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoCount:
    """A list of todos: of each whether it is finished, that is completed or abandoned."""

    finished: tuple[bool, ...] = ()

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.finished)

    @property
    def completed(self) -> int:
        """How many are finished."""
        return sum(self.finished)

    def after(self, tool: str, arguments: Mapping[str, JsonValue], *, answer: str = "") -> TodoCount:
        """The list after a call that succeeded; of a call that the tool refused in its `answer`, as before."""
        if answer.startswith(_REFUSED):
            return self
        if tool == WRITE:
            return TodoCount(finished=_written(self.finished, arguments))
        if tool == EDIT:
            return TodoCount(finished=_edited(self.finished, arguments))
        return self


def _written(finished: tuple[bool, ...], arguments: Mapping[str, JsonValue]) -> tuple[bool, ...]:
    todos = arguments.get("todos")
    if not isinstance(todos, list):
        return finished
    new = (False,) * len(todos)
    match arguments.get("mode", "replace"), arguments.get("index"):
        case "replace", _:
            return new
        case "append", _:
            return finished + new
        case "insert", int(index) if 0 <= index <= len(finished):
            return finished[:index] + new + finished[index:]
        case _:
            return finished


def _edited(finished: tuple[bool, ...], arguments: Mapping[str, JsonValue]) -> tuple[bool, ...]:
    action, indices = arguments.get("action"), arguments.get("indices")
    if action not in ("start", "complete", "abandon") or not isinstance(indices, list):
        return finished
    chosen = {index for index in indices if isinstance(index, int) and 0 <= index < len(finished)}
    if len(chosen) < len(set(map(str, indices))):
        return finished  # one that is not there spoils the whole call
    return tuple(action != "start" if at in chosen else was for at, was in enumerate(finished))
