"""A store under test in a place of its own, and tasks as an engine would save them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

from ohm_subagents._plugins.stores import RetentionPolicy, Store, StoreRequest, StoreSpec
from ohm_subagents.contract import (
    Activity,
    Assignment,
    Budget,
    CallId,
    Event,
    LaunchRecord,
    OhmError,
    Ok,
    Outcome,
    Route,
    RunEnded,
    RunStarted,
    SessionId,
    StartBudget,
    Succeeded,
    Task,
    TaskId,
    TaskQueued,
    TaskSettled,
    apply,
)


class StoreClock:
    """A clock in epoch milliseconds that stands where it is put."""

    def __init__(self, now: int = 1_000_000) -> None:
        self.now = now
        """The time."""

    def __call__(self) -> int:
        """Return the time."""
        return self.now


@dataclass(frozen=True, kw_only=True)
class StoreTrial:
    """One store in one place; `hand` saves to it while it is open."""

    spec: StoreSpec
    """The store."""
    directory: Path
    """The directory of its files."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment that it gets: addresses and keys."""
    clock: StoreClock = field(default_factory=StoreClock)
    """Its clock."""

    @asynccontextmanager
    async def opened(self, **policy: int) -> AsyncGenerator[Store]:
        """Open the store with these fields of `RetentionPolicy`, and flush it at the end, as an engine does."""
        request = StoreRequest(
            directory=self.directory, clock=self.clock, policy=RetentionPolicy(**policy), env=self.env
        )
        async with self.spec.open(request) as store:
            yield store
            await store.flush()

    def hand(self, store: Store) -> StoreHand:
        """Return what saves to the open store."""
        return StoreHand(store, self.clock)


class TaskFields(TypedDict, total=False):
    """The facts about a task that differ from those of any other."""

    session: str
    """Its session."""
    parent: str
    """The task that started it."""
    call: str
    """The call that started it."""
    start: str
    """The start whose budget it shares."""
    profile: str
    """Its profile."""
    description: str
    """Its title."""
    launch: LaunchRecord
    """The settings that it was admitted with."""


class StoreHand:
    """Saves what happens to tasks, one event at a time."""

    def __init__(self, store: Store, clock: StoreClock) -> None:
        self.store = store
        self.clock = clock

    def new(self, task_id: str = "task_1", **about: Unpack[TaskFields]) -> Task:
        """Save a task that is queued."""
        call, parent, start = about.get("call"), about.get("parent"), about.get("start")
        task = Task(
            id=TaskId(task_id),
            session_id=SessionId(about.get("session", "session_1")),
            assignment=Assignment(
                profile=about.get("profile", "finder"),
                name="Finder",
                description=about.get("description", "look"),
                prompt="p",
                invocation="task-routed",
                backend="scripted",
                created_ms=self.clock(),
                parent=None if parent is None else TaskId(parent),
                call=None if call is None else CallId(call),
                shares=None if start is None else StartBudget(id=start, budget=Budget(requests=10)),
            ),
            activity=Activity(),
            route=Route(runtime="scripted", route="scripted"),
            launch=about.get("launch"),
            updated_ms=self.clock(),
            summary="Queued Finder: look",
        )
        return self.tell(task, TaskQueued())

    def tell(self, task: Task, *events: Event) -> Task:
        """Save events of a task, and return it as it is then."""
        for event in events:
            task = apply(task, event, at_ms=self.clock())
            self.store.save(task, event)
        return task

    def started(self, task_id: str = "task_1", *events: Event, **about: Unpack[TaskFields]) -> Task:
        """Save a task that runs, and what happens in it."""
        return self.tell(self.new(task_id, **about), RunStarted(prompt="p"), *events)

    def settled(
        self,
        task_id: str = "task_1",
        *events: Event,
        outcome: Outcome | None = None,
        output: str = "done",
        **about: Unpack[TaskFields],
    ) -> Task:
        """Save a task that runs, what happens in it, and its end."""
        outcome = outcome or Succeeded()
        ended = RunEnded(outcome=outcome, output=output)
        return self.tell(self.started(task_id, *events, **about), ended, TaskSettled(outcome=outcome))


def got(store: Store, task_id: str) -> Task:
    """Return a task that has to be there."""
    return store.get(TaskId(task_id)).unwrap()


def refused(store: Store, task_id: str) -> OhmError:
    """Return why a task is not there."""
    return store.get(TaskId(task_id)).unwrap_err()


def found(store: Store, *ids: str) -> list[str]:
    """Return the status of each task, or the code that says why it is not there."""
    answers = [store.get(TaskId(task_id)) for task_id in ids]
    return [answer.ok_value.status if isinstance(answer, Ok) else str(answer.err_value.code) for answer in answers]
