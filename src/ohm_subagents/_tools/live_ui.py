"""Keep the status line and the widget of a host current."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._views.status import status_line, widget_lines
from ohm_subagents._views.tree import SPINNER_FRAME_MS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from ohm_subagents._config.schema import Display
    from ohm_subagents._plugins.backends.context import Log
    from ohm_subagents._plugins.suites.embedding import Host
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.task import Task

KEY: Final = "ohm-subagents"
HEARTBEAT_MS: Final = SPINNER_FRAME_MS
WIDGET_TASKS: Final = 3


class LiveUi:
    """An observer, and one task that shows what it saw: see `run`.

    `tasks` and `settings` are asked at each refresh; `clock` is the one that stamped the tasks. The pace follows the
    event loop: at most one refresh in `ui_update_ms`, a heartbeat that turns the spinner while a task is at work, and
    nothing at all while all are idle. The host is called only for what changed, and everything is cleared
    `ui_idle_grace_ms` after the last activity. A host that raises is logged once and not called again.
    """

    def __init__(
        self,
        host: Host,
        *,
        tasks: Callable[[], Iterable[Task]],
        settings: Callable[[], Display],
        clock: Clock,
        logger: Log,
    ) -> None:
        self._host = host
        self._tasks = tasks
        self._settings = settings
        self._clock = clock
        self._logger = logger
        self._stale = anyio.Event()
        self._scope = anyio.CancelScope()
        self._status: str | None = None
        self._widget: list[str] = []
        self._is_muted = False

    def notify(self, task: Task, event: Event) -> None:
        """Take note that a task changed; costs nothing while the mode is `off`."""
        del task, event
        if self._settings().ui_mode != "off":
            self._stale.set()

    def refresh(self) -> None:
        """Take note that something else changed, such as the mode."""
        self._stale.set()

    async def run(self) -> None:
        """Show what happens until `close` is called or the task group is cancelled; then clear."""
        with self._scope:
            try:
                while not self._is_muted:
                    await self._stale.wait()
                    await self._follow()
            finally:
                self._show(None, [])

    def close(self) -> None:
        """Clear, and let `run` return."""
        self._scope.cancel()

    async def _follow(self) -> None:
        """Refresh at every change and heartbeat, until there was none for the grace period."""
        quiet = False
        while not quiet and not self._is_muted:
            self._stale = anyio.Event()
            began, settings = anyio.current_time(), self._settings()
            if settings.ui_mode == "off":
                break
            is_active = self._refresh(compact=settings.ui_mode == "compact")
            with anyio.move_on_after((HEARTBEAT_MS if is_active else settings.ui_idle_grace_ms) / 1000) as patience:
                await self._stale.wait()
            quiet = patience.cancelled_caught and not is_active
            await anyio.sleep_until(began + settings.ui_update_ms / 1000)
        self._show(None, [])

    def _refresh(self, *, compact: bool) -> bool:
        """Show the newest state; return True if a task is at work."""
        tasks = tuple(self._tasks())
        lines = widget_lines(tasks, now_ms=self._clock(), compact=compact, max_tasks=WIDGET_TASKS)
        self._show(status_line(tasks), lines)
        return bool(lines)

    def _show(self, status: str | None, widget: list[str]) -> None:
        """Call the host for what has changed."""
        changed_status, changed_widget = status != self._status, widget != self._widget
        self._status, self._widget = status, widget
        try:
            if changed_status and not self._is_muted:
                self._host.set_status(KEY, status)
            if changed_widget and not self._is_muted:
                self._host.set_widget(KEY, widget or None)
        except Exception:
            self._is_muted = True
            self._logger.exception("host.muted", host=repr(self._host))


@asynccontextmanager
async def kept_current(live_ui: LiveUi | None) -> AsyncGenerator[None]:
    """Run a live UI, if there is one, while this is open."""
    if live_ui is None:
        yield
        return
    async with anyio.create_task_group() as group:
        group.start_soon(live_ui.run)
        yield
        live_ui.close()
