"""Events of tasks as streams for one reader each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import anyio

from ohm_subagents.contract.commands import Wait
from ohm_subagents.contract.events import Checkpointed, TaskEvent, TaskSettled
from ohm_subagents.contract.outcome import Cancelled, Failed, Outcome, Succeeded
from ohm_subagents.contract.replies import Accepted, TasksReply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from ohm_subagents._orchestrator.orchestrator import Orchestrator
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task


class EventStream:
    """An observer whose events one reader takes, in their order; nothing waits for the reader."""

    def __init__(self, *, with_checkpoints: bool) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[TaskEvent](math.inf)
        self._with_checkpoints = with_checkpoints

    def notify(self, task: Task, event: Event) -> None:
        if self._with_checkpoints or not isinstance(event, Checkpointed):
            self._send.send_nowait(TaskEvent(task_id=task.id, at_ms=task.updated_ms, event=event))

    def end(self) -> None:
        """Let the reader end when it has read all; notify it no more."""
        self._send.close()

    def __aiter__(self) -> AsyncIterator[TaskEvent]:
        return aiter(self._receive)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._send.close()
        self._receive.close()


def past_of(task: Task) -> Iterator[TaskEvent]:
    """Yield what a task holds of its events, and of a settled task how it ended."""
    for recorded in task.activity.events:
        yield TaskEvent(task_id=task.id, at_ms=recorded.at_ms, event=recorded.event)
    if task.is_terminal:
        yield end_of(task)


def end_of(task: Task) -> TaskEvent:
    """Return the last event of a settled task."""
    return TaskEvent(task_id=task.id, at_ms=task.updated_ms, event=TaskSettled(outcome=_outcome_of(task)))


def _outcome_of(task: Task) -> Outcome:
    if task.error is not None:
        return Failed(error=task.error)
    return Succeeded() if task.status == "succeeded" else Cancelled(reason=task.summary)


async def events_of(engine: Orchestrator, task_id: TaskId, *, with_checkpoints: bool) -> AsyncGenerator[TaskEvent]:
    """Yield the past of one task, then its events to the last; of a task of another process only the last follows."""
    with EventStream(with_checkpoints=with_checkpoints) as stream, engine.watching(task_id, stream) as (task, is_here):
        if task is None:
            return
        for past in past_of(task):
            yield past
        if task.is_terminal:
            return
        if not is_here:
            match await engine.execute(Wait(ids=(task_id,))):
                case TasksReply(items=(Accepted(task=ended),)) if ended.is_terminal:
                    yield end_of(ended)
                case _:
                    pass
            return
        async for each in stream:
            yield each
            if isinstance(each.event, TaskSettled):
                return
