"""What a person sees of the todo tools: calls, results and messages (002, 6)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._surfaces.todos.snapshot import shown_todos
from ohm_subagents._views.cells import printable
from ohm_subagents._views.todos import ICONS, NONE, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.suites import ToolResult
    from ohm_subagents._surfaces.todos.todo_list import Todo
    from ohm_subagents._views.theme import Theme, View

CONTEXT: Final = "til-done-context"
COMPLETE: Final = "til-done-complete"
COUNTDOWN: Final = "til-done-countdown"
_COLOURS: Final[Mapping[Status, str]] = MappingProxyType(
    {"not_started": "dim", "in_progress": "warning", "completed": "success", "abandoned": "error"}
)
_MESSAGES: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {CONTEXT: ("accent", "📋 ", "dim"), COMPLETE: ("success", "✓ ", "text"), COUNTDOWN: ("accent", "⏳ ", "dim")}
)
"""Of each kind of message: the colour of its mark, the mark, the colour of its text."""


def write_line(arguments: JsonValue, theme: Theme) -> str:
    """A call of `write_todos`, also of arguments that are not all there yet."""
    given = arguments if isinstance(arguments, dict) else {}
    todos, mode, index = given.get("todos"), given.get("mode") or "replace", given.get("index")
    count = len(todos) if isinstance(todos, list) else 0
    place = f" @{index}" if mode == "insert" and index is not None else ""
    title, counted = _title("write_todos ", theme), f"({count} items{place})"
    return title + theme.fg("warning", printable(f"{mode} ")) + theme.fg("muted", printable(counted))


def list_line(_arguments: JsonValue, theme: Theme) -> str:
    """A call of `list_todos`."""
    return _title("list_todos", theme)


def edit_line(arguments: JsonValue, theme: Theme) -> str:
    """A call of `edit_todos`, also of arguments that are not all there yet."""
    given = arguments if isinstance(arguments, dict) else {}
    indices = given.get("indices")
    listed = ", ".join(str(index) for index in indices) if isinstance(indices, list) else ""
    title, action = _title("edit_todos ", theme), given.get("action") or "..."
    return title + theme.fg("warning", printable(f"{action} ")) + theme.fg("accent", printable(f"[{listed}]"))


def _title(name: str, theme: Theme) -> str:
    return theme.fg("toolTitle", theme.bold(name))


def result_view(result: ToolResult, view: View) -> str:
    """A result: the list after it, or what was wrong."""
    if not result.details:
        return printable(result.text)
    if error := result.details.get("error"):
        return view.theme.fg("error", printable(f"Error: {error}"))
    return themed_list(shown_todos(result.details), view.theme)


def themed_list(todos: tuple[Todo, ...], theme: Theme) -> str:
    """One line an item; what is finished is struck through."""
    if not todos:
        return theme.fg("dim", NONE)
    return "\n".join(_line(index, todo, theme) for index, todo in enumerate(todos))


def _line(index: int, todo: Todo, theme: Theme) -> str:
    icon, place = theme.fg(_COLOURS[todo.status], ICONS[todo.status]), theme.fg("accent", f"[{index}]")
    text = printable(todo.text)
    label = theme.fg("text", text) if todo.is_open else theme.fg("dim", theme.strikethrough(text))
    return f"{icon} {place} {label}"


def message_view(kind: str, text: str, theme: Theme) -> str | None:
    """A message of this suite; None for any other."""
    if kind not in _MESSAGES:
        return None
    colour, mark, body = _MESSAGES[kind]
    return theme.fg(colour, mark) + theme.fg(body, printable(text))
