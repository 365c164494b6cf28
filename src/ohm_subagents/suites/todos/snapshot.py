"""Lists of todos in the details of results, and in the entries of a host's session."""

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
    """Write the list for the details of a result."""
    return [todo.payload() for todo in todos.todos]


def shown_todos(details: JsonObject) -> tuple[Todo, ...]:
    """Read the list in the details of a result."""
    found = details.get("todos")
    return tuple(_understood(found)) if isinstance(found, list) else ()


def last_todos(branch: Sequence[JsonValue]) -> tuple[Todo, ...]:
    """Read the list of the newest result that has one; empty if none has.

    Results of `list_todos`, of failed calls and of emptied lists have none.
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
    """Return the items of a session entry that is a result of these tools; other entries may have any shape."""
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
