"""Lists of todos in the details of results, of which a host's session is full (002, 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.suite import encodable
from ohm_subagents.suites.todos.todo_list import MAX_TEXT, Todo, known_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from ohm_subagents.suite import JsonObject
    from ohm_subagents.suites.todos.todo_list import TodoList


def snapshot(todos: TodoList) -> list[JsonValue]:
    """The list as it stands in the details of a result."""
    return [todo.payload() for todo in todos.todos]


def shown_todos(details: JsonObject) -> tuple[Todo, ...]:
    """The list in the details of a result, for a person."""
    found = details.get("todos")
    return tuple(_understood(found)) if isinstance(found, list) else ()


def last_todos(branch: Sequence[JsonValue]) -> tuple[Todo, ...]:
    """The list that the newest result with one tells of; nothing if there is none.

    A result of `list_todos` and one of a failed call have none, and neither has that of an emptied list (002).
    """
    for entry in reversed(branch):
        found = _todos_of(entry)
        if found:
            return tuple(
                todo
                for item in found
                if isinstance(item, dict) and len(item) == 2
                for todo in _understood([item])
                if 1 <= len(todo.text) <= MAX_TEXT
            )
    return ()


def _todos_of(entry: JsonValue) -> list[JsonValue]:
    """What a session entry has of a list, if it is a result of ours; others may have any shape."""
    match entry:
        case {
            "type": "message",
            "message": {
                "role": "toolResult",
                "toolName": "write_todos" | "list_todos" | "edit_todos",
                "details": {"todos": list(found)},
            },
        }:
            return found
        case _:
            return []


def _understood(items: list[JsonValue]) -> list[Todo]:
    todos: list[Todo] = []
    for item in items:
        fields = item if isinstance(item, dict) else {}
        text, status = fields.get("text"), known_status(fields.get("status"))
        if isinstance(text, str) and status is not None:
            todos.append(Todo(text=encodable(text), status=status))
    return todos
