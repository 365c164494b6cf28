"""The host's screen, as far as it has one: status lines and the countdown of a list."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from ohm_subagents.suites.todos.todo_text import todo_line
from ohm_subagents.suites.todos.views import COUNTDOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.suite import Host
    from ohm_subagents.suites.todos.todo_list import TodoList

STATUS: Final = "til-done"
ACTIVE: Final = "til-done-active"

logger = logging.getLogger(__name__)


class Screen:
    """The status lines and the countdown; shows nothing without a host that has a screen.

    A host that raises is logged, and no call fails for it.
    """

    def __init__(self, host: Callable[[], Host | None]) -> None:
        self._host = host

    def show(self, todos: TodoList) -> None:
        """Show the progress of the list and its items in progress."""
        host = self._seen()
        if host is None:
            return
        active = [
            f"[{at}] {todo_line(todo.text)}" for at, todo in enumerate(todos.todos) if todo.status == "in_progress"
        ]
        try:
            host.set_status(STATUS, _progress(todos))
            host.set_status(ACTIVE, "\n".join(active) or None)
        except Exception:
            logger.exception("The status of the todos could not be shown.")

    def count_down(self, seconds: int | None) -> bool:
        """Show the seconds left, None to clear; return False if the host failed."""
        host = self._seen()
        if host is None:
            return True
        try:
            if seconds is None:
                host.set_widget(COUNTDOWN, None)
            else:
                line = f"⏳ Auto-continuing in {seconds}s... (type anything to interrupt)"
                host.set_widget(COUNTDOWN, [line], placement="aboveEditor")
        except Exception:
            logger.exception("The countdown could not be shown.")
            return False
        return True

    def _seen(self) -> Host | None:
        """Return the host if it has a screen; one that fails to answer has none."""
        host = self._host()
        try:
            return host if host is not None and host.has_ui() else None
        except Exception:
            logger.exception("Whether the host has a screen could not be learnt.")
            return None


def _progress(todos: TodoList) -> str | None:
    count = len(todos.todos)
    if not count:
        return None
    left = len(todos.open_indices)
    return f"📋 {count - left}/{count}" if left else f"✓ Done ({count} items)"
