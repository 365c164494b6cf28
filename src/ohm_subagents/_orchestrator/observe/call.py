"""One command while it is carried out: who follows it, and what ends the waiting for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._concurrency.abort import wait_or_abort

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import anyio

    from ohm_subagents._plugins.suites.interface import Progress
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.replies import Reply
    from ohm_subagents.contract.task import Task


class Call:
    """The observer and the progress of one command, and the event with which its caller aborts it."""

    def __init__(self, observer: Observer | None, progress: Progress | None, abort: anyio.Event | None) -> None:
        self._observer = observer
        self._progress = progress
        self._abort = abort

    def observers(self, snapshot: Callable[[], Reply]) -> tuple[Observer, ...]:
        """Return the followers as observers of tasks; `snapshot` gives the reply as it would be now."""
        observers = () if self._observer is None else (self._observer,)
        return observers if self._progress is None else (*observers, _ProgressObserver(self._progress, snapshot))

    def show(self, snapshot: Callable[[], Reply]) -> None:
        """Show the state of the command although nothing happened to its tasks."""
        if self._progress is not None:
            self._progress.step(snapshot, None)

    @property
    def is_aborted(self) -> bool:
        """True once the caller has aborted it."""
        return self._abort is not None and self._abort.is_set()

    async def wait(self, until: Callable[[], Awaitable[object]]) -> bool:
        """Wait until `until` returns or the caller aborts; return True in the second case."""
        return await wait_or_abort(until, self._abort)


class _ProgressObserver:
    def __init__(self, progress: Progress, snapshot: Callable[[], Reply]) -> None:
        self._progress = progress
        self._snapshot = snapshot

    def notify(self, task: Task, event: Event) -> None:
        del task
        self._progress.step(self._snapshot, event)
