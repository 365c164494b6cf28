"""Tasks in any state, made by applying events as the engine does."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import count

import pytest
from made_tasks import queued_task

from ohm_subagents.contract import (
    Cancelled,
    Event,
    Failed,
    OhmError,
    RunEnded,
    RunStarted,
    Succeeded,
    Task,
    TaskSettled,
    TextDelta,
    apply,
)

MakeTask = Callable[..., Task]


def queued(task_id: str, *, prompt: str) -> Task:
    return queued_task(task_id, description="Auth scan", prompt=prompt, backend="test-backend", summary="Queued Finder")


def played(task: Task, *events: Event) -> Task:
    stamps = count(start=1)
    return reduce(lambda state, event: apply(state, event, at_ms=next(stamps)), events, task)


@pytest.fixture
def running() -> MakeTask:
    """A running task that said and did what `events` tell."""

    def make(*events: Event, prompt: str = "Trace auth", task_id: str = "task_1") -> Task:
        task = queued(task_id, prompt=prompt)
        return played(task, RunStarted(prompt=prompt), *events)

    return make


@pytest.fixture
def succeeded(running: MakeTask) -> MakeTask:
    """A task that ended well with `output`."""

    def make(output: str = "out task_1", *events: Event, **fields: str) -> Task:
        ended = RunEnded(outcome=Succeeded(), output=output)
        return played(running(*events, **fields), ended, TaskSettled(outcome=Succeeded()))

    return make


@pytest.fixture
def failed(running: MakeTask) -> MakeTask:
    """A task that failed after it had streamed `said`."""

    def make(error: OhmError, *events: Event, said: str = "", **fields: str) -> Task:
        outcome = Failed(error=error)
        spoken = (TextDelta(text=said),) if said else ()
        return played(running(*spoken, *events, **fields), RunEnded(outcome=outcome), TaskSettled(outcome=outcome))

    return make


@pytest.fixture
def cancelled(running: MakeTask) -> MakeTask:
    """A task that somebody stopped."""

    def make(*events: Event, **fields: str) -> Task:
        outcome = Cancelled(reason="cancelled by the caller")
        return played(running(*events, **fields), RunEnded(outcome=outcome), TaskSettled(outcome=outcome))

    return make
