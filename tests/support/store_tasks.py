"""Tasks as an engine would save them, for tests of stores."""

import sqlite3
import threading
from functools import partial
from itertools import chain

from made_tasks import queued_task

from ohm_subagents._store.opening import ohm_stores, open_store
from ohm_subagents.contract import (
    Cancelled,
    Checkpointed,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskQueued,
    TaskSettled,
    TextDelta,
    apply,
)
from ohm_subagents.store import RetentionPolicy, StoreRequest, StoreSpec
from ohm_subagents.stores import snapshot, sqlite
from ohm_subagents.stores.sqlite.opening import open_sqlite

SETTLED = {"succeeded": Succeeded(), "cancelled": Cancelled(reason="asked")}


class Clock:
    """Stands where it is put."""

    def __init__(self, now=1_000_000):
        self.now = now

    def __call__(self):
        return self.now


class FullDisk:
    """A fault point of a SQLite store that refuses each commit while it is full."""

    def __init__(self):
        self.is_full = threading.Event()

    def __call__(self, step):
        if step == "before commit" and self.is_full.is_set():
            raise sqlite3.OperationalError("database or disk is full")


class Hand:
    """Saves what happens to tasks, one event at a time."""

    def __init__(self, store, clock):
        self.store = store
        self.clock = clock

    def new(self, task_id="task_1", *, session="session_1", **fields):
        given = {"description": "look", "prompt": "p", "backend": "scripted", "summary": "Queued Finder: look"}
        task = queued_task(task_id, session_id=session, created_ms=self.clock(), **given | fields)
        return self.tell(task, TaskQueued())

    def tell(self, task, *events):
        for event in events:
            task = apply(task, event, at_ms=self.clock())
            self.store.save(task, event)
        return task

    def started(self, *ids_and_events, **fields):
        """`started("task_1", TextDelta(...), ...)`."""
        task_id, *events = ids_and_events or ("task_1",)
        return self.tell(self.new(task_id, **fields), RunStarted(prompt="p"), *events)

    def settled(self, *ids_and_events, output="done", outcome=None, **fields):
        task = self.started(*ids_and_events, **fields)
        outcome = outcome or Succeeded()
        return self.tell(task, RunEnded(outcome=outcome, output=output), TaskSettled(outcome=outcome))


def opened(kind, directory, clock, *, policy=None, fault_point=None, **options):
    specs = {spec.id: spec for spec in chain(ohm_stores(), snapshot.ohm_stores(), sqlite.ohm_stores())}
    if fault_point is not None:
        open_it = partial(open_sqlite, fault_point=fault_point)
        specs["sqlite"] = StoreSpec(id="sqlite", summary="It breaks.", open=open_it, predecessor="snapshot")
    request = StoreRequest(directory=directory, clock=clock, policy=policy or RetentionPolicy(), **options)
    return open_store(kind, specs, request, origin="default")


__all__ = ["SETTLED", "Checkpointed", "Clock", "Hand", "TextDelta", "opened"]
