"""Calls, results and messages of the todo tools, for a person."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import short_json
from ohm_subagents.suites.todos.snapshot import shown_todos
from ohm_subagents.suites.todos.todo_list import Todo
from ohm_subagents.suites.todos.todo_text import ICONS, NONE, Status, items_in, todo_line
from ohm_subagents.views import cells, printable, wrap, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents.suite import ToolResult
    from ohm_subagents.views import Theme, View

CONTEXT: Final = "til-done-context"
COMPLETE: Final = "til-done-complete"
COUNTDOWN: Final = "til-done-countdown"
_COLOURS: Final[Mapping[Status, str]] = MappingProxyType(
    {"not_started": "dim", "in_progress": "warning", "completed": "success", "abandoned": "error"}
)
_MESSAGES: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {CONTEXT: ("accent", "📋 ", "dim"), COMPLETE: ("success", "✓ ", "text"), COUNTDOWN: ("accent", "⏳ ", "dim")}
)
"""For each kind of message: the colour of its mark, the mark, the colour of its text."""


def write_line(arguments: JsonValue, theme: Theme) -> str:
    """Show a call of `write_todos`, whose arguments may still be incomplete."""
    given = arguments if isinstance(arguments, dict) else {}
    todos, mode, index = given.get("todos"), given.get("mode") or "replace", given.get("index")
    count = len(todos) if isinstance(todos, list) else 0
    place = f" @{_word(index)}" if mode == "insert" and index is not None else ""
    title, counted = _title("write_todos ", theme), f"({count} items{place})"
    return title + theme.fg("warning", f"{_word(mode)} ") + theme.fg("muted", counted)


def list_line(_arguments: JsonValue, theme: Theme) -> str:
    """Show a call of `list_todos`."""
    return _title("list_todos", theme)


def edit_line(arguments: JsonValue, theme: Theme) -> str:
    """Show a call of `edit_todos`, whose arguments may still be incomplete."""
    given = arguments if isinstance(arguments, dict) else {}
    indices = given.get("indices")
    listed = ", ".join(map(_word, indices)) if isinstance(indices, list) else ""
    title, action = _title("edit_todos ", theme), given.get("action") or "..."
    return title + theme.fg("warning", f"{_word(action)} ") + theme.fg("accent", f"[{listed}]")


def _word(value: JsonValue) -> str:
    """Show an argument of any type within a line."""
    return todo_line(value if isinstance(value, str) else short_json(value))


def _title(name: str, theme: Theme) -> str:
    return theme.fg("toolTitle", theme.bold(name))


def result_view(result: ToolResult, view: View) -> str:
    """Show a result: the list after it, or the error."""
    if not result.details:
        return "\n".join(wrapped(result.text, view.width))
    if error := result.details.get("error"):
        return "\n".join(view.theme.fg("error", line) for line in wrap(todo_line(f"Error: {error}"), view.width))
    return _list(shown_todos(result.details), view)


def list_view(result: ToolResult, view: View) -> str:
    """Show a result of `list_todos` by its text: its details have no list."""
    return _list([Todo(text=text, status=status) for status, text in items_in(result.text)], view)


def _list(todos: Iterable[Todo], view: View) -> str:
    return "\n".join(_item(*one, view) for one in enumerate(todos)) or view.theme.fg("dim", NONE)


def _item(index: int, todo: Todo, view: View) -> str:
    """Show an item: finished ones are struck through, further lines are below the text."""
    icon, place, theme = ICONS[todo.status], f"[{index}]", view.theme
    before = cells(f"{icon} {place} ")
    lines = wrap(todo_line(todo.text), max(view.width - before, 1))
    labels = [theme.fg("text", line) if todo.is_open else theme.fg("dim", theme.strikethrough(line)) for line in lines]
    label = f"\n{' ' * before}".join(labels)
    return f"{theme.fg(_COLOURS[todo.status], icon)} {theme.fg('accent', place)} {label}"


def message_view(kind: str, text: str, theme: Theme) -> str | None:
    """Show a message of this suite; None for any other."""
    if kind not in _MESSAGES:
        return None
    colour, mark, body = _MESSAGES[kind]
    return theme.fg(colour, mark) + theme.fg(body, printable(text))
