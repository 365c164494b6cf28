"""Follow what is new in a store: those who are woken, and the waiting of one of them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

import anyio

from ohm_subagents._concurrency.event_loop import caller_from_threads
from ohm_subagents.contract.activity import Activity
from ohm_subagents.contract.events import TaskEvent, TaskSettled
from ohm_subagents.contract.outcome import Cancelled, Failed, Succeeded
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.task import Route

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from contextlib import AbstractContextManager

    from ohm_subagents._plugins.stores import Notifier, Store, TaskLog
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.task import Task

_PACE_S: Final = 0.25
"""The time between two looks where nobody tells what is new, and between two at all tasks."""
_LOOK_S: Final = 2.0
"""The interval at which a follower looks if the process of the task is still there."""
_MOST_S: Final = 1.0


class Followers:
    """Functions to be called, from any thread, when there is something new."""

    def __init__(
        self, *, on_first: Callable[[], None] | None = None, on_last: Callable[[], None] | None = None
    ) -> None:
        """`on_first` is called before the first one follows, `on_last` when none does any more."""
        self._wakes: tuple[Callable[[], None], ...] = ()
        self._on_first = on_first
        self._on_last = on_last

    def wake(self) -> None:
        """Call all of them."""
        for wake in self._wakes:
            wake()

    @contextmanager
    def follow(self, wake: Callable[[], None]) -> Generator[None]:
        """See `Notifier.follow`."""
        if self._on_first is not None and not self._wakes:
            self._on_first()
        self._wakes = (*self._wakes, wake)
        try:
            yield
        finally:
            left = list(self._wakes)
            left.remove(wake)
            self._wakes = tuple(left)
            if self._on_last is not None and not left:
                self._on_last()


class Watch:
    """Waits in this event loop for what is new in a store, as long as its context is open.

    Without a notifier it only lets time pass.
    """

    def __init__(self, notifier: Notifier | None) -> None:
        self._notifier = notifier
        self._news = anyio.Event()
        self._following: AbstractContextManager[None] | None = None
        self._is_called = False

    def __enter__(self) -> Self:
        if self._notifier is None:
            return self
        call_soon = caller_from_threads()

        def called() -> None:
            self._is_called = False
            self.wake()

        def wake() -> None:
            if self._is_called:  # a call that is on its way tells of this too, and each costs a write to the loop
                return
            self._is_called = True
            try:
                call_soon(called)
            except RuntimeError:  # the event loop is closed: no one waits any more
                return

        self._following = self._notifier.follow(wake)
        self._following.__enter__()
        return self

    def __exit__(self, *_raised: object) -> None:
        if self._following is not None:
            self._following.__exit__(None, None, None)
            self._following = None

    def wake(self) -> None:
        """Let whoever waits look; only in this event loop."""
        self._news.set()

    async def news(self, *, within_s: float | None = None) -> None:
        """Return once there may be something new since it has returned last, or after so many seconds."""
        look_s = None if self._notifier is None else self._notifier.look_s
        seconds = [each for each in (look_s, within_s) if each is not None]
        with anyio.move_on_after(min(seconds, default=None)):
            await self._news.wait()
        self._news = anyio.Event()


async def watched_tasks(store: Store) -> AsyncGenerator[None]:
    """Yield whenever tasks of any process may have changed, at most four times a second, and at least every second."""
    log: TaskLog | None = getattr(store, "log", None)
    with Watch(log) as watch:
        while True:
            await watch.news(within_s=_MOST_S)
            yield
            await anyio.sleep(_PACE_S)


async def followed_events(store: Store, task_id: TaskId) -> AsyncGenerator[TaskEvent]:
    """Yield the events of a task that another process runs, from the first one on, each once, in order, as they come.

    The last one is its `TaskSettled`, also where its process dies. A store without a log tells only that.
    """
    log: TaskLog | None = getattr(store, "log", None)
    position = 0
    with Watch(log) as watch:
        while True:
            newest = store.get(task_id)  # one whose process has died is failed by that
            is_over = isinstance(newest, Err) or newest.ok_value.is_terminal
            if is_over:
                await store.flush()  # then the log has all
            events, position = ((), 0) if log is None else await log.after(task_id, position)
            for each in events:
                yield TaskEvent(task_id=task_id, at_ms=each.at_ms, event=each.event)
                if isinstance(each.event, TaskSettled):
                    return
            if is_over:
                if isinstance(newest, Ok):
                    yield end_of(newest.ok_value)
                return
            await watch.news(within_s=_PACE_S if log is None else _LOOK_S)


def unstarted(task: Task) -> Task:
    """Return a task as it was before its first event, to be folded again."""
    asked = task.assignment
    return replace(
        task,
        status="queued",
        summary=f"Queued {asked.name}: {asked.description}",
        route=Route(runtime=asked.backend, route=asked.backend),
        activity=Activity(max_events=task.activity.max_events),
        updated_ms=asked.created_ms,
        started_ms=None,
        ended_ms=None,
        runs=(),
        diagnostics=(),
        error=None,
        requests=(),
    )


def end_of(task: Task) -> TaskEvent:
    """Return the last event of a settled task."""
    return TaskEvent(task_id=task.id, at_ms=task.updated_ms, event=TaskSettled(outcome=_outcome_of(task)))


def _outcome_of(task: Task) -> Outcome:
    if task.error is not None:
        return Failed(error=task.error)
    return Succeeded() if task.status == "succeeded" else Cancelled(reason=task.summary)
