"""The suite `todos`: three tools that keep a todo list, for the parent agent and for subagents that name them.

`suite.build` makes the tools, `todo_list.TodoList` changes in one function, `continuation.after_turn` decides whether
the agent goes on, `snapshot.last_todos` restores a list from a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.suite import ToolSuiteSpec, hookimpl
from ohm_subagents.suites.todos.suite import build
from ohm_subagents.suites.todos.views import message_view

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def ohm_tool_suites() -> Iterable[ToolSuiteSpec]:
    """Offer the suite."""
    summary = "Keep a todo list, and go on until it is done."
    yield ToolSuiteSpec(name="todos", summary=summary, build=build, audience="both", message_view=message_view)
