"""A list of todos, and the only function that changes one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from ohm_subagents.suite import Err, Ok, Result
from ohm_subagents.suites.todos.todo_text import FINISHED, ICONS, Status, list_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.suite import JsonObject

MAX_TODOS: Final = 100
MAX_TEXT: Final = 1000
MAX_INDICES: Final = 50
ACTIONS: Final[Mapping[str, tuple[Status, str]]] = MappingProxyType(
    {
        "start": ("in_progress", "Started"),
        "complete": ("completed", "Completed"),
        "abandon": ("abandoned", "Abandoned"),
    }
)
"""The status that an action leads to, and its name in a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """One item; its identity is its place in the list, from 0."""

    text: str
    status: Status = "not_started"

    @property
    def is_open(self) -> bool:
        """True if it is neither completed nor abandoned."""
        return self.status not in FINISHED

    def payload(self) -> JsonObject:
        """Return plain JSON for the details of a result."""
        return {"text": self.text, "status": self.status}


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoList:
    """The items, and how often in a row the agent was asked to continue without changing any."""

    todos: tuple[Todo, ...] = ()
    continuations: int = 0

    @property
    def open_indices(self) -> tuple[int, ...]:
        """The indices of open items."""
        return tuple(index for index, todo in enumerate(self.todos) if todo.is_open)

    def text(self, indices: tuple[int, ...] | None = None) -> str:
        """Write one line an item, or `No todos`."""
        chosen = range(len(self.todos)) if indices is None else indices
        return list_text((index, self.todos[index].status, self.todos[index].text) for index in chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """New items, in place of all or among those that are there."""

    mode: str
    texts: tuple[str, ...]
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An action on items."""

    action: str
    indices: tuple[int, ...] = ()


Change: TypeAlias = Write | Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The list after a change, and the change in a few words."""

    todos: TodoList
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The reason why nothing was changed: `error` for machines, `message` for the model."""

    error: str
    message: str

    @classmethod
    def of(cls, message: str) -> Refusal:
        """Make one with the same text for both."""
        return cls(error=message, message=message)


def apply(todos: TodoList, change: Change) -> Result[Changed, Refusal]:
    """Change the list as a whole, or return the reason why nothing is changed."""
    match change:
        case Write():
            return _written(todos, change)
        case Edit():
            return _edited(todos, change)


def _written(current: TodoList, change: Write) -> Result[Changed, Refusal]:
    unfit = _unfit(change.texts)
    if unfit is not None:
        return Err(unfit)
    new = tuple(Todo(text=text) for text in change.texts)
    count, length = len(new), len(current.todos)
    match change:
        case Write(mode="replace"):
            if count > MAX_TODOS:
                return Err(_too_many(f"writing {count} item(s) would exceed maximum of {MAX_TODOS} todos"))
            return _changed(new, f"Wrote {count} todo item(s)")
        case Write(mode="append"):
            if length + count > MAX_TODOS:
                return Err(_too_many(_beyond("appending", count, length)))
            return _changed((*current.todos, *new), f"Appended {count} item(s)")
        case Write(mode="insert", index=None):
            message = "'index' is required for the 'insert' mode"
            return Err(Refusal(error="index required for insert", message=message))
        case Write(mode="insert", index=int(index)):
            if not 0 <= index <= length:
                return Err(Refusal.of(f"index {index} out of range (0 to {length})"))
            if length + count > MAX_TODOS:
                return Err(_too_many(_beyond("inserting", count, length)))
            there = (*current.todos[:index], *new, *current.todos[index:])
            return _changed(there, f"Inserted {count} item(s) at index {index}")
        case _:
            return Err(Refusal.of(f"unknown mode '{change.mode}'"))


def _unfit(texts: tuple[str, ...]) -> Refusal | None:
    """Refuse an item that is too long or blank; a blank one would be lost when the list is restored."""
    too_long = next((index for index, text in enumerate(texts) if len(text) > MAX_TEXT), None)
    if too_long is not None:
        message = f"todo item at index {too_long} exceeds maximum text length ({MAX_TEXT} characters)"
        return Refusal(error="text too long", message=message)
    empty = next((index for index, text in enumerate(texts) if not text.strip()), None)
    return None if empty is None else Refusal(error="text empty", message=f"todo item at index {empty} has no text")


def _edited(current: TodoList, change: Edit) -> Result[Changed, Refusal]:
    length, asked = len(current.todos), change.indices
    if not asked:
        message = "'indices' is required for start/complete/abandon actions"
        return Err(Refusal(error="indices required", message=message))
    if not length:
        return Err(Refusal.of("no todos exist"))
    outside = [index for index in asked if not 0 <= index < length]
    if outside:
        return Err(Refusal.of(f"indices {[*outside]} out of range (0 to {length - 1})"))
    if len(asked) > MAX_INDICES:
        return Err(Refusal.of(f"{len(asked)} indices exceed maximum of {MAX_INDICES}"))
    if change.action not in ACTIONS:
        return Err(Refusal.of(f"unknown action '{change.action}'"))
    status, label = ACTIONS[change.action]
    chosen = set(asked)
    after = tuple(replace(todo, status=status) if at in chosen else todo for at, todo in enumerate(current.todos))
    return _changed(after, f"{label} {[*asked]}")


def _changed(todos: tuple[Todo, ...], said: str) -> Result[Changed, Refusal]:
    return Ok(Changed(todos=TodoList(todos=todos), said=said))


def _beyond(doing: str, count: int, length: int) -> str:
    return f"{doing} {count} item(s) would exceed maximum of {MAX_TODOS} todos (currently {length})"


def _too_many(message: str) -> Refusal:
    return Refusal(error="max todos exceeded", message=message)


def known_status(value: object) -> Status | None:
    """Return the status of this name, None if there is none."""
    return cast("Status", value) if isinstance(value, str) and value in ICONS else None
