"""The door for stores of tasks: what a store promises, how a plugin offers one, and how to read what is kept.

A store is a `StoreSpec`, offered by the hook `ohm_stores`; `subagents.store` in ohm.json chooses it by its id. Its
`open(request)` gives a `Store`. A task is the fold of its events: a store may keep the events and fold them with
`apply`, or the newest state. `MemoryStore` is one to begin with: a store that writes itself down may inherit from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._concurrency.event_loop import caller_from_threads
from ohm_subagents._plugins.hooks.specs import hookimpl
from ohm_subagents._plugins.stores import RetentionPolicy, Store, StoreRequest, StoreSpec, TaskQuery
from ohm_subagents._store.history import COUNTED_EVENTS, completed_events, events_of, streamed_events
from ohm_subagents._store.memory import MemoryStore
from ohm_subagents._store.records import event_json_bytes, task_from_json, task_to_json
from ohm_subagents._store.recovery import recovered, recovery_note
from ohm_subagents._store.retention import Hidden, evicted_reason, expired_reason, task_expired, unknown_task
from ohm_subagents.contract import (
    Diagnostic,
    Err,
    Event,
    ListedTask,
    OhmError,
    Ok,
    Recorded,
    Result,
    Task,
    apply,
    event_from_json,
    event_to_json,
)

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ohm_subagents._config.load import LoadedConfig

__all__ = [
    "COUNTED_EVENTS",
    "Diagnostic",
    "Err",
    "Event",
    "Hidden",
    "ListedTask",
    "MemoryStore",
    "OhmError",
    "Ok",
    "Recorded",
    "Result",
    "RetentionPolicy",
    "Store",
    "StoreRequest",
    "StoreSpec",
    "Task",
    "TaskQuery",
    "apply",
    "caller_from_threads",
    "completed_events",
    "event_from_json",
    "event_json_bytes",
    "event_to_json",
    "events_of",
    "evicted_reason",
    "expired_reason",
    "hookimpl",
    "recovered",
    "recovery_note",
    "stored_tasks",
    "streamed_events",
    "task_expired",
    "task_from_json",
    "task_to_json",
    "unknown_task",
]


def stored_tasks(loaded: LoadedConfig, *, cwd: Path) -> AbstractAsyncContextManager[Store]:
    """Open the store that a configuration names, to read from it; raises OSError, with the reason, if that cannot be.

    Nothing is made or removed. Tasks whose process has died are failed on the way, as the next `Ohm` would.
    """
    from ohm_subagents._app import stored_tasks as reading  # noqa: PLC0415  a plugin that offers a store needs none of it

    return reading.stored_tasks(loaded, cwd=cwd)
