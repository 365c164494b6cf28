"""The lists of subagents: each session has its own."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from ohm_subagents.suites.todos.todo_list import TodoList

if TYPE_CHECKING:
    from ohm_subagents.suite import SessionId

MAX_LISTS: Final = 1000


class ChildTodos:
    """Lists by session, so that a follow-up finds what its conversation tells of; the one longest untouched leaves."""

    def __init__(self) -> None:
        self._lists: OrderedDict[SessionId | None, TodoList] = OrderedDict()

    def of(self, session_id: SessionId | None) -> TodoList:
        """The list of a session; an empty one if it has none yet."""
        return self._lists.get(session_id, TodoList())

    def replace(self, session_id: SessionId | None, todos: TodoList) -> None:
        """The list of a session is another one from now on."""
        self._lists[session_id] = todos
        self._lists.move_to_end(session_id)
        if len(self._lists) > MAX_LISTS:
            self._lists.popitem(last=False)
