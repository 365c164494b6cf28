"""The thread that writes: transcripts, then rows, one transaction for whatever has come together."""

from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents._store import rows
from ohm_subagents._store.owner import HEARTBEAT_S
from ohm_subagents._store.schema import transaction
from ohm_subagents._store.transcript import STREAMED, lines, state_line
from ohm_subagents._store.writer_queue import WriterQueue
from ohm_subagents.contract.events import Checkpointed, TaskQueued

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents._store.files import TaskFiles
    from ohm_subagents._store.owner import Process
    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents._store.transcript import Stamped
    from ohm_subagents._store.writer_queue import Batch, Takeover
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task

MAX_CHECKPOINT: Final = 4 * 1024 * 1024
"""In characters."""


class Unsaved:
    """Rows that are not in the file yet: the newest state of each task, and what is to be done with it."""

    def __init__(self) -> None:
        self.tasks: dict[TaskId, Task] = {}
        self.created: set[TaskId] = set()
        self.with_checkpoint: set[TaskId] = set()

    def add(self, task: Task, event: object) -> None:
        """A transition; it replaces the ones before."""
        self.tasks[task.id] = task
        if isinstance(event, TaskQueued):
            self.created.add(task.id)
        if isinstance(event, Checkpointed) or (isinstance(event, TaskQueued) and task.checkpoint is not None):
            self.with_checkpoint.add(task.id)


@dataclass(frozen=True, kw_only=True)
class Owner:
    """This store among those that share the file."""

    id: int
    slot: int
    process: Process


class Writer:
    """Everything that changes the file after it was opened.

    `told` gets a sentence about what could not be kept, `gone` the ids of tasks that were removed; both are called in
    the thread. `seam` is called before and after every write, with its name: a test may end the process there.
    """

    def __init__(
        self,
        *,
        connection: sqlite3.Connection,
        files: TaskFiles,
        owner: Owner,
        policy: RetentionPolicy,
        told: Callable[[str], None],
        gone: Callable[[Iterable[TaskId]], None],
        seam: Callable[[str], None],
    ) -> None:
        self.queue = WriterQueue()
        self.written_count = 0
        """How many entries of the queue are in the file."""
        self._connection = connection
        self._files = files
        self._owner = owner
        self._policy = policy
        self._told = told
        self._gone = gone
        self._seam = seam
        self._unsaved = Unsaved()
        self._untouched: set[TaskId] = set()
        self._outputs: set[tuple[TaskId, int]] = set()
        self._lost: set[TaskId] = set()
        self._removed: dict[TaskId, tuple[int, ...]] = {}
        self._now_ms = 0
        self._beaten_s = time.monotonic()
        self._must_remove = True
        self._is_failing = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="ohm-subagents store", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what is left, say goodbye, and end the thread."""
        self._is_closed = True
        self.queue.hurry()
        self._thread.join()

    @property
    def is_running(self) -> bool:
        """Whether anybody will write what is put into the queue."""
        return self._thread.is_alive()

    def write_now(self, now_ms: int) -> None:
        """Write what is queued in the caller's thread; only before `start`."""
        self._now_ms = now_ms
        self._write(self.queue.take())

    def _run(self) -> None:
        batch: Batch | None = None
        try:
            while not self._is_closed:
                self.queue.wait(0.0 if self._must_remove else self._until_beat_s())
                batch = self.queue.take()
                self._write(batch)
                batch = None
            self._write(self.queue.take())
            self._leave()
        finally:
            self._files.close_all()
            self._connection.close()
            self._is_closed = True
            for then in (() if batch is None else batch.waiting) + self.queue.take().waiting:
                then()

    def _until_beat_s(self) -> float:
        return max(0.0, self._beaten_s + HEARTBEAT_S - time.monotonic())

    def _write(self, batch: Batch) -> None:
        if batch.policy is not None:
            self._policy, self._must_remove = batch.policy, True
        self._transcribe(batch)
        try:
            self._commit(batch)
        except (sqlite3.Error, OSError) as exc:
            if not self._is_failing:
                self._told(f"Tasks could not be written and are kept in memory until they can: {exc}.")
            self._is_failing = True
            self._must_remove = False
        else:
            self._is_failing = False
            self.written_count = batch.count
        for then in batch.waiting:
            then()
        self._remove_files()

    # Streamed events

    def _transcribe(self, batch: Batch) -> None:
        """Append before the rows are written: a row never knows more than its transcript."""
        streamed: dict[TaskId, list[Stamped]] = {}
        begun: set[TaskId] = set()
        for task, event in batch.saved:
            self._now_ms = task.updated_ms
            streamed.setdefault(task.id, []).append((task.updated_ms, event))
            if type(event) in STREAMED:
                begun.add(task.id)
            else:
                self._unsaved.add(task, event)
                if isinstance(event, TaskQueued):
                    self._untouched.add(task.id)
        for task_id, stamped in streamed.items():
            if task_id in begun or task_id not in self._untouched:
                self._append(task_id, lines(stamped))
        for task_id, task in batch.behind.items():
            self._append(task_id, state_line(task))
        for task_id in streamed:
            newest = self._unsaved.tasks.get(task_id)
            if newest is not None and newest.is_terminal:
                self._files.close(task_id)
                self._untouched.discard(task_id)

    def _append(self, task_id: TaskId, content: bytes) -> None:
        if not content or task_id in self._lost:
            return
        self._seam("before transcript")
        try:
            self._files.append(task_id, content, is_new=task_id in self._untouched)
        except OSError as exc:
            self._told(f"The transcript of task '{task_id}' could not be written: {exc}.")
        else:
            self._untouched.discard(task_id)
        self._seam("after transcript")

    # Rows

    def _commit(self, batch: Batch) -> None:
        now_s = time.monotonic()
        is_due = now_s - self._beaten_s >= HEARTBEAT_S
        if not (self._unsaved.tasks or batch.takeovers or is_due or self._must_remove):
            return
        ready = [rows.Row.of(task) for task in self._unsaved.tasks.values()]
        for row in ready:
            self._write_outputs(row)
        self._seam("before commit")
        removed: dict[TaskId, tuple[int, ...]] = {}
        is_all = True
        with transaction(self._connection):
            if is_due:
                rows.beat(self._connection, self._owner.id, self._owner.slot, self._owner.process, wall_clock_ms())
            taken = [each for each in batch.takeovers if self._take_over(each)]
            lost = [row.task.id for row in ready if not self._save(row)]
            if self._unsaved.created or self._must_remove:
                removed, is_all = rows.remove_old(self._connection, self._policy, self._now_ms)
        self._seam("after commit")
        self._beaten_s = now_s if is_due else self._beaten_s
        self._must_remove = not is_all
        self._unsaved = Unsaved()
        self._outputs -= {(row.task.id, n) for row in ready if row.task.is_terminal for n in row.large}
        self._removed |= removed
        self._gone([*removed, *(each.task.id for each in batch.takeovers if each not in taken)])
        for each in taken:
            self._close_transcript(each)
        self._lost.update(lost)
        for task_id in lost:
            self._told(f"Task '{task_id}' belongs to another process now; what this one did since then is not kept.")

    def _save(self, row: rows.Row) -> bool:
        task_id = row.task.id
        if task_id in self._lost:
            return True
        write = rows.insert if task_id in self._unsaved.created else rows.update
        if not write(self._connection, row, self._owner.id):
            return False
        if task_id in self._unsaved.with_checkpoint and not rows.save_checkpoint(
            self._connection, row.task, max_chars=MAX_CHECKPOINT
        ):
            self._told(
                f"The conversation of task '{task_id}' is longer than {MAX_CHECKPOINT} characters and is not kept;"
                " what continues it starts from its prompts and answers."
            )
        return True

    def _take_over(self, entry: Takeover) -> bool:
        """Fail a task of a dead owner, unless somebody else was faster."""
        return rows.update(self._connection, rows.Row.of(entry.task), self._owner.id, former=entry.former)

    def _close_transcript(self, entry: Takeover) -> None:
        stamped = [(entry.task.updated_ms, event) for event in entry.events]
        try:
            if self._files.transcript(entry.task.id).exists():
                self._files.append_after_death(entry.task.id, lines(stamped))
        except OSError as exc:
            self._told(f"The transcript of task '{entry.task.id}' could not be written: {exc}.")

    def _write_outputs(self, row: rows.Row) -> None:
        new = {n: text for n, text in row.large.items() if (row.task.id, n) not in self._outputs}
        if new:
            self._files.write_outputs(row.task.id, new)
            self._outputs |= {(row.task.id, n) for n in new}

    def _remove_files(self) -> None:
        """Of tasks that are gone; nobody waits for it."""
        for task_id, numbers in self._removed.items():
            self._files.remove(task_id, numbers)
        self._removed = {}

    def _leave(self) -> None:
        """What this store still owned, which an orderly end leaves none of, is a dead owner's from now on."""
        try:
            self._connection.execute("DELETE FROM owners WHERE id = ?", (self._owner.id,))
        except sqlite3.Error as exc:
            self._told(f"The registry of tasks could not be closed: {exc}.")


def wall_clock_ms() -> int:
    """Heartbeats are read by other processes, who know nothing of an injected clock."""
    return time.time_ns() // 1_000_000
