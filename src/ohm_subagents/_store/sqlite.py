"""Tasks in a SQLite file that several processes share: the default."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio
from anyio import to_thread
from anyio.lowlevel import current_token

from ohm_subagents._store.files import TaskFiles
from ohm_subagents._store.history import written_down
from ohm_subagents._store.owners import is_alive, registered
from ohm_subagents._store.place import Fixed
from ohm_subagents._store.record import read
from ohm_subagents._store.recovery import recovered, told
from ohm_subagents._store.retention import expired, expired_why, unknown
from ohm_subagents._store.transcript import STREAMED, replayed
from ohm_subagents._store.writer import Writer
from ohm_subagents._store.writer_queue import Takeover
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event, Recorded
    from ohm_subagents.contract.ids import Clock, SessionId, TaskId
    from ohm_subagents.contract.task import Task

FILE: Final = "ohm.subagents.tasks.sqlite3"
FOLDER: Final = "ohm.subagents.tasks"
RECENT: Final = 128
"""So many settled tasks are answered from memory."""
RECENT_CHARS: Final = 16_000_000
"""And so many characters of what they said."""
SEQUENCES: Final = 1_000_000
"""How many ids a store may give before they could meet those of its neighbour."""

_SELECT: Final = (
    "SELECT tasks.id, owner, ended_ms, record, large_outputs, state FROM tasks"
    " LEFT JOIN checkpoints ON checkpoints.task_id = tasks.id"
)
Stored = tuple["TaskId", int, int | None, bytes, str, str | None]


class SqliteStore:
    """Reads in the caller's thread, writes in a thread of its own. `open_store` makes one, and closes it."""

    def __init__(
        self,
        *,
        file: Path,
        reading: sqlite3.Connection,
        writing: sqlite3.Connection,
        clock: Clock,
        policy: RetentionPolicy,
        seam: Callable[[str], None],
    ) -> None:
        self._file = file
        self._reading = reading
        self._clock = clock
        self._policy = policy
        self._diagnostics: list[Diagnostic] = []
        self._newest: dict[TaskId, Task] = {}
        self._settled: OrderedDict[TaskId, tuple[int, int]] = OrderedDict()
        self._settled_chars = 0
        self._files = TaskFiles(file.parent / FOLDER)
        self._owner = registered(writing)
        self._writer = Writer(
            connection=writing,
            file=Fixed(file),
            files=self._files,
            owner=self._owner,
            policy=policy,
            told=self.tell,
            gone=self._forget,
            seam=seam,
        )
        self._queue = self._writer.queue

    def begin(self, fact: str) -> None:
        """Recover what dead owners left, write it with what was taken in and `fact`, then let the thread work."""
        for owner in self._dead_owners():
            live = self._rows("WHERE owner = ? AND ended_ms IS NULL ORDER BY seq", owner)
            for row in live:
                if isinstance(loaded := self._loaded(row), Err):
                    self.tell(str(loaded.err_value))
        self._writer.write_now(self._clock(), fact)
        self._reading.execute("PRAGMA query_only = ON")
        self._writer.start()

    def tell(self, message: str, severity: Literal["warning", "info"] = "warning") -> None:
        """Something that the user should know; from any thread."""
        self._diagnostics.append(
            Diagnostic(subject="subagents.store", message=message, severity=severity, source=str(self._file))
        )

    def _tell_once(self, message: str) -> None:
        if all(each.message != message for each in tuple(self._diagnostics)):
            self.tell(message)

    def save(self, task: Task, event: Event) -> None:
        self._newest[task.id] = task
        self._queue.save(task, event)
        if task.ended_ms is not None and type(event) not in STREAMED:
            self._remember_settled(task)

    def _remember_settled(self, task: Task) -> None:
        """Keep it at hand, and drop the oldest that are safely in the file."""
        size = sum(map(len, task.said)) + len(task.checkpoint or "") + sum(len(run.output or "") for run in task.runs)
        self._settled[task.id] = (self._queue.put_count, size)
        self._settled_chars += size
        while len(self._settled) > RECENT or self._settled_chars > RECENT_CHARS:
            oldest, (number, chars) = next(iter(self._settled.items()))
            if number > self._writer.written_count:
                break
            del self._settled[oldest]
            self._settled_chars -= chars
            self._newest.pop(oldest, None)

    def _forget(self, task_ids: Iterable[TaskId]) -> None:
        for task_id in task_ids:
            self._newest.pop(task_id, None)

    def take_in(self, task: Task) -> None:
        """A settled task that was kept somewhere else."""
        self._newest[task.id] = task
        self._queue.put_whole(task)
        self._remember_settled(task)

    def retain(self, policy: RetentionPolicy) -> None:
        self._policy = policy
        self._queue.put(policy)

    async def flush(self) -> None:
        if self._writer.has_all:
            return
        written, native = anyio.Event(), current_token().native_token
        soon = getattr(native, "run_sync_soon", None) or getattr(native, "call_soon_threadsafe")  # noqa: B009  trio, asyncio

        def wake() -> None:
            try:
                soon(written.set)
            except RuntimeError:  # the event loop is closed: nobody waits any more
                return

        self._queue.hurry(wake)
        await written.wait()
        if self._queue.is_ended:
            self._tell_once("Tasks are kept in memory only: the thread that wrote them has ended.")

    def close(self) -> None:
        """Write everything and let go of the file."""
        self._writer.close()
        self._reading.close()

    # Reading

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(self._diagnostics)

    @property
    def place(self) -> str:
        return str(self._file)

    @property
    def first_sequence(self) -> int:
        return self._owner.slot * SEQUENCES + 1

    def count(self) -> int:
        found = self._found("SELECT n FROM counts WHERE what = 'tasks'")
        return int(found[0][0]) - len(self._writer.eviction.leaving) if found else len(self._newest)

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        if (task := self._newest.get(task_id)) is not None:
            return self._within_retention(task)
        found = self._rows("WHERE tasks.id = ?", task_id)
        if found:
            loaded = self._loaded(found[0])
            return self._within_retention(loaded.ok_value) if isinstance(loaded, Ok) else loaded
        why = self._found("SELECT why FROM gone WHERE id = ?", task_id)
        return Err(expired(task_id, why[0][0]) if why else unknown(task_id))

    def _within_retention(self, task: Task) -> Result[Task, OhmError]:
        """What is past its time, or made room, is gone, whether it was removed yet or not."""
        if (why := self._writer.eviction.leaving.get(task.id)) is not None:
            return Err(expired(task.id, why))
        if task.ended_ms is not None and self._clock() - task.ended_ms >= self._policy.retention_ms:
            return Err(expired(task.id, expired_why(self._policy)))
        return Ok(task)

    def tasks(self) -> Iterator[Task]:
        return self._listed("ORDER BY seq")

    def recent(self) -> tuple[Task, ...]:
        newest = tuple(self._newest.values())
        return tuple(task for task in newest if isinstance(self._within_retention(task), Ok))

    def session(self, session_id: SessionId) -> tuple[Task, ...]:
        return tuple(self._listed("WHERE session_id = ? ORDER BY seq", session_id))

    async def history(self, task: Task) -> tuple[Recorded, ...]:
        """From the transcript; where the disk is too slow for it, also from memory."""
        await self.flush()
        unwritten = None if self._writer.has_all else self._newest.get(task.id)
        return await to_thread.run_sync(written_down, task, self._files, unwritten)

    def _listed(self, which: str, *values: str) -> Iterator[Task]:
        """From memory where it is newer; what is not in the file yet comes last."""
        newest = {task.id: task for task in tuple(self._newest.values()) if not values or task.session_id == values[0]}
        unwritten = {task_id for task_id in newest if not self._is_written(task_id)}  # asked before the file is read
        found = self._found(f"{_SELECT} {which}", *values)
        if found is None:
            unwritten = set(newest)
        for row in found or ():
            unwritten.discard(row[0])
            mine = newest.get(row[0])
            loaded = self._loaded(row) if mine is None else Ok(mine)
            if isinstance(loaded, Ok) and isinstance(self._within_retention(loaded.ok_value), Ok):
                yield loaded.ok_value
        yield from (task for task_id, task in newest.items() if task_id in unwritten)

    def _is_written(self, task_id: TaskId) -> bool:
        """Whether it has settled and is in the file, where somebody else may have removed it."""
        return task_id in self._settled and self._settled[task_id][0] <= self._writer.written_count

    def is_foreign(self, task_id: TaskId) -> bool:
        if task_id in self._newest:
            return False
        found = self._found("SELECT owner FROM tasks WHERE id = ? AND ended_ms IS NULL", task_id)
        return any(owner != self._owner.id and self._is_alive(owner) for (owner,) in found or ())

    def owner_pid(self, task_id: TaskId) -> int | None:
        """The number of the living process that runs the task, where that number means something."""
        found = self._found(
            "SELECT pid, boot, namespace FROM owners JOIN tasks ON tasks.owner = owners.id"
            " WHERE tasks.id = ? AND ended_ms IS NULL",
            task_id,
        )
        here = self._owner.process
        return found[0][0] if found and found[0][1:] == (here.boot, here.namespace) else None

    def outlines(self) -> Iterator[Result[Task, OhmError]]:
        """Every task, newest first, without what its transcript, large outputs and conversation hold: for lists."""
        for task_id, record in self._found("SELECT id, record FROM tasks ORDER BY seq DESC") or ():
            if task_id not in self._writer.eviction.leaving:
                yield read(task_id, record, outputs={}, checkpoint=None)

    def _rows(self, which: str, *values: str | int) -> list[Stored]:
        return self._found(f"{_SELECT} {which}", *values) or []

    def _found(self, statement: str, *values: str | int) -> list[Any] | None:
        """What the file answers; None, and that is told, if it cannot be read."""
        try:
            return self._reading.execute(statement, values).fetchall()
        except UnicodeEncodeError:  # no text, so nothing that was ever kept
            return []
        except sqlite3.Error as exc:
            self._tell_once(f"The registry of tasks cannot be read, and only tasks in memory are known: {exc}.")
            return None

    def _loaded(self, row: Stored) -> Result[Task, OhmError]:
        """The task of a row; one whose owner has died is failed on the way."""
        task_id, owner, ended_ms, record, large, checkpoint = row
        outputs = self._files.outputs(task_id, json.loads(large))
        match read(task_id, record, outputs=outputs, checkpoint=checkpoint):
            case Err() as unreadable:
                return unreadable
            case Ok(task):
                task = replayed(task, self._files.streamed(task_id))
        if ended_ms is not None or owner == self._owner.id or self._is_alive(owner):
            return Ok(task)
        newest = next(iter(self._rows("WHERE tasks.id = ?", task_id)), row)
        if newest != row:  # the last word of its owner, written after we read the row and before we looked for him
            return self._loaded(newest)
        settled, events = recovered(task, now_ms=self._clock())
        self._diagnostics.append(told(task))
        self._newest[task_id] = settled
        self._queue.put(Takeover(task=settled, events=events, former=owner))
        self._remember_settled(settled)
        return Ok(settled)

    # Owners

    def _dead_owners(self) -> list[int]:
        owners = self._found("SELECT DISTINCT owner FROM tasks WHERE ended_ms IS NULL") or ()
        return [owner for (owner,) in owners if owner != self._owner.id and not self._is_alive(owner)]

    def _is_alive(self, owner: int) -> bool:
        """Also where nobody can tell: a task is not taken from one who may be at work."""
        found = self._found("SELECT pid, started, boot, namespace, heartbeat_ms FROM owners WHERE id = ?", owner)
        return found is None or any(is_alive(*process) for process in found)
