"""Events of tasks as streams for one reader each."""

from __future__ import annotations

from collections import deque
from contextlib import aclosing
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final, Self

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents._orchestrator.observe.observers import Follower
from ohm_subagents._store.following import end_of, followed_events
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import (
    Checkpointed,
    DiagnosticRaised,
    TaskEvent,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from ohm_subagents._app.commanding import Commanding
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task

MAX_WAITING: Final = 10_000
"""The most events that wait for one reader."""
MAX_CHARS: Final = 8 * 1024 * 1024
"""The most characters of text in them."""
_MANY: Final = 1000
"""Once so many wait, pieces of one text are joined."""
_PIECE: Final = 4096
"""They are joined up to so many characters."""


class EventStream(Follower):
    """An observer whose events one reader takes, in their order; nothing waits for the reader.

    Give it as the `observer` of `Ohm.run`, and read it at the same time. Of many events that wait, the pieces of one
    text are joined. If more than 10,000 wait, or 8 MiB of text, the older half is left out, and a diagnostic in its
    place says so.
    """

    def __init__(self, *, with_checkpoints: bool = False) -> None:
        """`with_checkpoints`: see `Handle.events`."""
        self._waiting: deque[TaskEvent] = deque()
        self._chars = 0
        self._left_out = 0
        self._has_ended = False
        self._news = anyio.Event()
        self._with_checkpoints = with_checkpoints

    def notify(self, task: Task, event: Event) -> None:
        """Add an event to those that wait."""
        if not self._with_checkpoints and isinstance(event, Checkpointed):
            return
        newest = TaskEvent(task_id=task.id, at_ms=task.updated_ms, event=event)
        joined = _joined(self._waiting[-1], newest) if len(self._waiting) > _MANY else None
        if joined is not None:
            self._waiting.pop()
        self._waiting.append(joined or newest)
        self._chars += _chars_of(event)
        if len(self._waiting) > MAX_WAITING or self._chars > MAX_CHARS:
            self._leave_out()
        self._news.set()

    def leave(self, task: Task) -> None:
        """End: the task goes on in another process, if at all."""
        del task
        self.end()

    def end(self) -> None:
        """Let the reader end when it has read all; notify it no more."""
        self._has_ended = True
        self._news.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TaskEvent:
        await checkpoint()
        while not self._waiting:
            if self._has_ended:
                raise StopAsyncIteration
            self._news = anyio.Event()
            await self._news.wait()
        if self._left_out:
            return self._gap()
        taken = self._waiting.popleft()
        self._chars -= _chars_of(taken.event)
        return taken

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._waiting.clear()
        self.end()

    def _leave_out(self) -> None:
        """Leave out the older events until half of the room is free; the newest one stays."""
        while len(self._waiting) > 1 and (len(self._waiting) > MAX_WAITING // 2 or self._chars > MAX_CHARS // 2):
            self._chars -= _chars_of(self._waiting.popleft().event)
            self._left_out += 1

    def _gap(self) -> TaskEvent:
        message = f"{self._left_out} events are left out here: they were not read in time."
        self._left_out = 0
        said = DiagnosticRaised(diagnostic=Diagnostic(subject="events", message=message))
        return replace(self._waiting[0], event=said)


def _joined(former: TaskEvent, newest: TaskEvent) -> TaskEvent | None:
    """Return one event for two pieces of one text; None for events that stay apart."""
    if former.task_id != newest.task_id:
        return None
    match former.event, newest.event:
        case (TextDelta(text=begun), TextDelta(text=more)) if len(begun) < _PIECE:
            return replace(newest, event=TextDelta(text=begun + more))
        case (ThinkingDelta(text=begun), ThinkingDelta(text=more)) if len(begun) < _PIECE:
            return replace(newest, event=ThinkingDelta(text=begun + more))
        case _:
            return None


def _chars_of(event: Event) -> int:
    values: list[object] = [getattr(event, one.name) for one in fields(event) if one.name != "kind"]
    return sum(len(value) for value in values if isinstance(value, str))


def past_of(task: Task) -> Iterator[TaskEvent]:
    """Yield what a task holds of its events, and of a settled task how it ended."""
    for recorded in task.activity.events:
        yield TaskEvent(task_id=task.id, at_ms=recorded.at_ms, event=recorded.event)
    if task.is_terminal:
        yield end_of(task)


async def events_of(engine: Commanding, task_id: TaskId, *, with_checkpoints: bool) -> AsyncGenerator[TaskEvent]:
    """Yield the past of one task, then its events to the last; of one of another process all, as the store has them."""
    with EventStream(with_checkpoints=with_checkpoints) as stream:
        async with engine.watching(task_id, stream) as (task, is_here):
            if task is None:
                return
            if task.is_terminal:
                for past in past_of(task):
                    yield past
                return
            if is_here:
                for past in past_of(task):
                    yield past
                async for each in stream:
                    yield each
                    if isinstance(each.event, TaskSettled):
                        return
    if not is_here:
        async with aclosing(followed_events(engine.store, task_id)) as events:
            async for each in events:
                yield each
