"""What the screen of the host shows of a list, as far as there is one (002)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from ohm_subagents.suites.todos.views import COUNTDOWN
from ohm_subagents.views import todo_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.suite import Host
    from ohm_subagents.suites.todos.todo_list import TodoList

STATUS: Final = "til-done"
ACTIVE: Final = "til-done-active"

logger = logging.getLogger(__name__)


class Screen:
    """The status bar and the countdown; without a host, or a screen of its own, nothing at all.

    A host that raises is logged, and no call fails for it.
    """

    def __init__(self, host: Callable[[], Host | None]) -> None:
        self._host = host

    def show(self, todos: TodoList) -> None:
        """How far the list is, and what is being worked on."""
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
        """Show how long is left, or that nothing is awaited any more; whether that went well."""
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
        """Who has a screen; one that cannot say has none."""
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
