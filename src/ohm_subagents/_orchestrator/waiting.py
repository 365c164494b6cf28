"""Waiting for tasks: notified of those that run here, and woken for those of another process."""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._orchestrator.asking import gone_text
from ohm_subagents._orchestrator.observe.observers import Follower, subscribed
from ohm_subagents._store.following import Watch
from ohm_subagents.contract.events import TaskSettled
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.limits import FOREVER_MS
from ohm_subagents.contract.outcome import Cancelled
from ohm_subagents.contract.replies import Missing
from ohm_subagents.contract.requests import AnswerAwaited
from ohm_subagents.contract.result import Ok

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.commands import Wait
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.replies import Accepted, WaitStatus
    from ohm_subagents.contract.task import Task

STOPPED_WITHIN_S: Final = 0.05
"""The time in which a cancellation is to be stored before the run is stopped."""
_LOOK_S: Final = 2.0
"""The interval at which a wait looks if the processes of the tasks are still there."""


def seconds(milliseconds: int | None) -> float:
    """Convert a timeout; None is forever."""
    return math.inf if milliseconds is None or milliseconds > FOREVER_MS else milliseconds / 1000


async def is_later(until: Callable[[], Awaitable[object]], *, than_ms: int | None) -> bool:
    """Wait; return True if it takes longer than a time, after which the wait ends."""
    if than_ms is None:
        await until()
        return False
    with anyio.move_on_after(seconds(than_ms)) as patience:
        await until()
    return patience.cancelled_caught


async def wait_answered(tasks: Iterable[RunningTask]) -> None:
    """Wait until the first prompt of every task is answered."""
    for live in tasks:
        if not live.asked.answered.is_set:
            await live.asked.answered.wait()


class WaitEnd(Follower):
    """Ends a wait: an observer of the tasks that run here, which is woken when any other settles or asks.

    Those are tasks of other processes, and such as have outlived theirs and wait for an answer: with it they go on in
    whichever process. A task that begins here while it waits is waited for too. It knows no timeout.
    """

    def __init__(
        self,
        command: Wait,
        live: Iterable[RunningTask],
        store: Store,
        running: Callable[[TaskId], RunningTask | None],
    ) -> None:
        """`running` finds a task that runs here by now."""
        self._command = command
        self._store = store
        self._running = running
        self._ids = frozenset(map(TaskId, command.ids))
        self._here = {one.task.id for one in live if not one.task.is_terminal}
        self._elsewhere = self._ids - self._here
        self._watch = Watch(None)
        self._is_asked = command.until_asked and any(one.task.requests for one in live)
        self._is_closing = False
        self._has_begun = False
        self._subscriptions = ExitStack()

    def leave(self, task: Task) -> None:
        del task
        self._is_closing = True
        self._watch.wake()

    def notify(self, task: Task, event: Event) -> None:
        if type(event) is TaskSettled:
            self._here.discard(task.id)
            if not self._here or self._command.mode == "any":
                self._watch.wake()
        elif type(event) is AnswerAwaited and self._command.until_asked:
            self._is_asked = True
            self._watch.wake()

    async def wait(self) -> None:
        """Wait until all of the tasks are settled, or what else the command waits for."""
        if self._is_over():
            return
        self._has_begun = True
        self._watch = Watch(getattr(self._store, "outbox", None) if self._elsewhere else None)
        with self._watch, self._subscriptions:
            while not self._is_over():
                await self._watch.news(within_s=_LOOK_S if self._elsewhere else None)

    def status(self, items: Iterable[Accepted | Missing], *, is_aborted: bool) -> WaitStatus:
        """Return how the wait has ended, by the tasks as they are now."""
        settled = [isinstance(item, Missing) or item.task.is_terminal for item in items]
        if all(settled) or (self._command.mode == "any" and any(settled)):
            return "completed"
        if self._is_asked:
            return "asked"
        return "aborted" if is_aborted or self._is_closing else "timeout"

    def left(self, items: Iterable[Accepted | Missing]) -> Task | None:
        """Return the first task that is not settled and that nothing goes on with, so that no wait for it ends."""
        unsettled = (item.task for item in items if not isinstance(item, Missing) and not item.task.is_terminal)
        return next((task for task in unsettled if not self._goes_on(task.id)), None)

    def _is_over(self) -> bool:
        self._elsewhere = frozenset(filter(self._goes_on, self._elsewhere))
        if self._command.until_asked:
            found = map(self._store.get, self._elsewhere)
            self._is_asked |= any(isinstance(one, Ok) and one.ok_value.requests for one in found)
        unsettled = len(self._here) + len(self._elsewhere)
        is_any = self._command.mode == "any" and unsettled < len(self._ids)
        if self._is_asked or self._is_closing or is_any:
            return True
        return not unsettled and not self._has_joined()

    def _has_joined(self) -> bool:
        """Return True if tasks that were unknown before run here by now; they are waited for from then on."""
        found = [one for each in self._ids if (one := self._running(each)) is not None and not one.task.is_terminal]
        self._subscriptions.enter_context(subscribed((one.record.observers for one in found), (self,)))
        self._here |= {one.task.id for one in found}
        return bool(found)

    def _goes_on(self, task_id: TaskId) -> bool:
        """Return True if a task runs elsewhere, has been taken over here, or waits for an answer to be taken over."""
        if self._store.is_foreign(task_id) or self._running(task_id) is not None:
            return True
        found = self._store.get(task_id)
        return isinstance(found, Ok) and (bool(found.ok_value.requests) or self._is_taken_over(found.ok_value))

    def _is_taken_over(self, task: Task) -> bool:
        """Return True for a task that was elsewhere when the wait began, is ours now, and does not run yet."""
        return self._has_begun and not task.is_terminal and any(one.id == task.id for one in self._store.recent())


async def cancel_and_store(live: RunningTask, reason: str, store: Store) -> None:
    """Record a task as cancelled at once, then stop its run when that is stored: to unwind it takes longer."""
    live.record.settle(Cancelled(reason=reason))
    try:
        with anyio.move_on_after(STOPPED_WITHIN_S):  # a disk may hang
            await store.flush()
    finally:
        live.stop()


def end_call(started: Iterable[RunningTask], observers: Iterable[Observer], *, background: bool = False) -> None:
    """End a call: cancel what it waited for in vain, and notify its observers no more of tasks that go on."""
    for live in started:
        if not (background or live.asked.answered.is_set):
            live.cancel(gone_text())
        live.record.observers.remove(*observers)
