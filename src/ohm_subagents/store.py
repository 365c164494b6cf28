"""The door for stores of tasks: what a store promises, how a plugin offers one, and how to read what is kept.

A store is a `StoreSpec`, offered by the hook `ohm_stores`; `subagents.store` in ohm.json chooses it by its id. Its
`open(request)` gives a `Store`. A task is the fold of its events: a store may keep the events and fold them with
`apply`, or the newest state. `MemoryStore` is one to begin with: a store that writes itself down may inherit from it.
One that writes in a thread of its own, because disk or network are slow, is made of `WriterQueue`, `Saving`, `Recent`,
`Expiry`, `Notes` and `Adoption`; `log_lines` makes the log of a task, and `task_of_log` the task again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._concurrency.event_loop import caller_from_threads
from ohm_subagents._lazy import lazy_names
from ohm_subagents._plugins.control import CommandState, CommandStatus, ControlInbox, SentCommand
from ohm_subagents._plugins.hooks.specs import hookimpl
from ohm_subagents._plugins.outbox import HELD_TIMES, MOST_CONSUMERS, Consumer, Outbox, OutboxEntry
from ohm_subagents._plugins.stores import Notifier, RetentionPolicy, Store, StoreRequest, StoreSpec, TaskLog, TaskQuery
from ohm_subagents._store.control import MemoryControl
from ohm_subagents._store.following import Followers, end_of, followed_events, unstarted, watched_tasks
from ohm_subagents._store.history import COUNTED_EVENTS, completed_events, events_of, streamed_events
from ohm_subagents._store.memory import MemoryStore
from ohm_subagents._store.outbox import MemoryOutbox, Position
from ohm_subagents._store.records import event_json_bytes, task_from_json, task_to_json
from ohm_subagents._store.recovery import may_go_on, recovered, recovery_note
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
from ohm_subagents.contract.listed_task import ELSEWHERE, NO_PROCESS
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ohm_subagents._config.load import LoadedConfig
    from ohm_subagents._store.adoption import Adoption
    from ohm_subagents._store.expiry import Expiry
    from ohm_subagents._store.listing import listed_from_text, listed_to_text
    from ohm_subagents._store.log import history_of_log, log_lines, task_of_log
    from ohm_subagents._store.notes import Notes
    from ohm_subagents._store.processes import Process
    from ohm_subagents._store.recent import Recent
    from ohm_subagents._store.saving import Saving
    from ohm_subagents._store.writer_queue import Batch, Changes, Expired, Takeover, WriterQueue

__all__ = [
    "COUNTED_EVENTS",
    "ELSEWHERE",
    "HELD_TIMES",
    "MOST_CONSUMERS",
    "NO_PROCESS",
    "Adoption",
    "Batch",
    "Changes",
    "CommandState",
    "CommandStatus",
    "Consumer",
    "ControlInbox",
    "Diagnostic",
    "Err",
    "Event",
    "Expired",
    "Expiry",
    "Followers",
    "Hidden",
    "ListedTask",
    "MemoryControl",
    "MemoryOutbox",
    "MemoryStore",
    "Notes",
    "Notifier",
    "OhmError",
    "Ok",
    "Outbox",
    "OutboxEntry",
    "Position",
    "Process",
    "Recent",
    "Recorded",
    "Result",
    "RetentionPolicy",
    "Saving",
    "SentCommand",
    "Store",
    "StoreRequest",
    "StoreSpec",
    "Takeover",
    "Task",
    "TaskLog",
    "TaskQuery",
    "WriterQueue",
    "apply",
    "caller_from_threads",
    "completed_events",
    "end_of",
    "event_from_json",
    "event_json_bytes",
    "event_to_json",
    "events_of",
    "evicted_reason",
    "expired_reason",
    "fold_id",
    "followed_events",
    "history_of_log",
    "hookimpl",
    "listed_from_text",
    "listed_to_text",
    "log_lines",
    "may_go_on",
    "recovered",
    "recovery_note",
    "stored_tasks",
    "streamed_events",
    "task_expired",
    "task_from_json",
    "task_of_log",
    "task_to_json",
    "unknown_task",
    "unstarted",
    "watched_tasks",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_store.adoption": "Adoption",
        "_store.expiry": "Expiry",
        "_store.listing": "listed_from_text listed_to_text",
        "_store.log": "history_of_log log_lines task_of_log",
        "_store.notes": "Notes",
        "_store.processes": "Process",
        "_store.recent": "Recent",
        "_store.saving": "Saving",
        "_store.writer_queue": "Batch Changes Expired Takeover WriterQueue",
    },
)


def stored_tasks(loaded: LoadedConfig, *, cwd: Path) -> AbstractAsyncContextManager[Store]:
    """Open the store that a configuration names, to read from it; raises OSError, with the reason, if that cannot be.

    No store is made where there is none, none is set aside, and no task is removed (`StoreRequest.is_reader`). Tasks
    whose process has died are failed on the way, as the next `Ohm` would.
    """
    from ohm_subagents._app import stored_tasks as reading  # noqa: PLC0415  a plugin that offers a store needs none of it

    return reading.stored_tasks(loaded, cwd=cwd)
