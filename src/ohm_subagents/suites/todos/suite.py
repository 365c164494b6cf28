"""The three tools: write, list and edit."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from ohm_subagents.suite import Err, Ok, Result, Tool, ToolResult, telling_unknown_keys
from ohm_subagents.suites.todos.inputs import EDIT_SCHEMA, LIST_SCHEMA, WRITE_SCHEMA, parse_edit, parse_write
from ohm_subagents.suites.todos.session import ParentTodos
from ohm_subagents.suites.todos.snapshot import snapshot
from ohm_subagents.suites.todos.todo_list import TodoList, apply
from ohm_subagents.suites.todos.todo_text import EDIT, LIST, WRITE
from ohm_subagents.suites.todos.views import edit_line, list_line, list_view, result_view, write_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from ohm_subagents.suite import JsonObject, SessionId, SuiteContext, ToolCall
    from ohm_subagents.suites.todos.todo_list import Change, Refusal
    from ohm_subagents.views import View

MAX_LISTS: Final = 1000
"""Lists of subagents in memory."""
SNIPPET: Final = "Manage a todo list: write (replace/append/insert), list, edit (start/complete/abandon by indices)"
GUIDELINES: Final = (
    "Use write_todos with mode 'replace' to create or replace the full todo list at the start of a task.",
    "Use write_todos with mode 'append' to add new items to the end of the existing list.",
    "Use write_todos with mode 'insert' and an 'index' parameter to insert items at a specific position.",
    "Use edit_todos with action 'start' and an array of 0-based indices to begin work on specific items.",
    "Use edit_todos with action 'complete' and an array of 0-based indices to mark items as done.",
    "Use edit_todos with action 'abandon' and an array of 0-based indices when items are no longer needed.",
    "Use list_todos to review the current todo list.",
    "Always call edit_todos with action 'start' on the next item before working on it, then 'complete' when done.",
)


class Keeper(Protocol):
    """Keeps the list of each caller."""

    def of(self, session_id: SessionId | None) -> TodoList: ...
    def replace(self, session_id: SessionId | None, todos: TodoList) -> None: ...


class ChildTodos:
    """The lists of subagents by session, which a follow-up finds again; the one longest untouched is dropped first."""

    def __init__(self) -> None:
        self._lists: OrderedDict[SessionId | None, TodoList] = OrderedDict()

    def of(self, session_id: SessionId | None) -> TodoList:
        """Return the list of a session; an empty one if it has none yet."""
        return self._lists.get(session_id, TodoList())

    def replace(self, session_id: SessionId | None, todos: TodoList) -> None:
        """Replace the list of a session."""
        self._lists[session_id] = todos
        self._lists.move_to_end(session_id)
        if len(self._lists) > MAX_LISTS:
            self._lists.popitem(last=False)


def build(context: SuiteContext) -> tuple[Tool, ...]:
    """Make the three tools for one audience."""
    if context.audience == "child":
        return _tools(context.remember("children", ChildTodos()))
    parent = context.remember("parent", ParentTodos(context))
    parent.follow(context)
    return _tools(parent)


def _tools(keeper: Keeper) -> tuple[Tool, ...]:
    """Make the tools; a subagent gets them if its profile names them, since most work needs no list."""
    tools = (
        Tool(
            checks_arguments=True,
            name=WRITE,
            label="Write Todos",
            description="Manage the todo list with three modes: 'replace' (clears and replaces the entire list), "
            "'append' (adds items to the end), and 'insert' (inserts items at a specific index). All new items start "
            "as 'not_started'. Append and insert modes do not change existing item statuses.",
            input_schema=WRITE_SCHEMA,
            execute=partial(_change, keeper, "write", parse_write),
            call_view=write_line,
            result_view=result_view,
            prompt_snippet=SNIPPET,
            prompt_guidelines=GUIDELINES,
            only_if_named=True,
        ),
        Tool(
            checks_arguments=True,
            name=LIST,
            label="List Todos",
            description="View the current todo list: every item with its status and its 0-based index.",
            input_schema=LIST_SCHEMA,
            execute=partial(_list, keeper),
            call_view=list_line,
            result_view=list_view,
            prompt_snippet=SNIPPET,
            only_if_named=True,
        ),
        Tool(
            checks_arguments=True,
            name=EDIT,
            label="Edit Todos",
            description="Apply a status action ('start', 'complete' or 'abandon') to one or more todo items by their "
            "0-based indices. Batch operations are atomic: if any index is invalid, no changes are applied.",
            input_schema=EDIT_SCHEMA,
            execute=partial(_change, keeper, "edit", parse_edit),
            call_view=edit_line,
            result_view=result_view,
            prompt_snippet=SNIPPET,
            only_if_named=True,
        ),
    )
    return tuple(map(telling_unknown_keys, tools))


async def _change(
    keeper: Keeper, action: str, parse: Callable[[JsonValue], Result[Change, Refusal]], call: ToolCall
) -> ToolResult:
    match parse(call.arguments):
        case Ok(change):
            outcome = apply(keeper.of(call.session_id), change)
        case Err() as outcome:
            pass
    match outcome:
        case Ok(changed):
            keeper.replace(call.session_id, changed.todos)
            text = f"{changed.said}\n\n{changed.todos.text()}"
            return _result(text, {"action": action, "todos": snapshot(changed.todos)})
        case Err(refused):
            return _result(f"Error: {refused.message}", {"action": action, "todos": [], "error": refused.error})


async def _list(keeper: Keeper, call: ToolCall) -> ToolResult:
    """Show the list; its details have none, so that no session is restored from it."""
    return _result(keeper.of(call.session_id).text(), {"action": "list", "todos": []}, list_view)


def _result(text: str, details: JsonObject, shown: Callable[[ToolResult, View], str] = result_view) -> ToolResult:
    """Make a result; a refusal is no failed call, since the model reads it and continues."""
    plain = ToolResult(text=text, details=details)
    return replace(plain, view=partial(shown, plain))
