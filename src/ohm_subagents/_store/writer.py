"""The thread that writes: transcripts, then rows, one transaction for whatever has come together."""

from __future__ import annotations

import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Final

from ohm_subagents._store import rows
from ohm_subagents._store.eviction import Eviction
from ohm_subagents._store.owner import HEARTBEAT_S, wall_clock_ms
from ohm_subagents._store.schema import is_damage, transaction
from ohm_subagents._store.transcript import STREAMED, lines
from ohm_subagents._store.transcripts import Transcripts
from ohm_subagents._store.writer_queue import WriterQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents._store.files import TaskFiles
    from ohm_subagents._store.owners import Owner
    from ohm_subagents._store.place import Fixed
    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents._store.writer_queue import Batch, Discard, Takeover
    from ohm_subagents.contract.ids import TaskId

MAX_CHECKPOINT: Final = 4 * 1024 * 1024
"""In characters."""
_WRONG_VALUE: Final = (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""What SQLite raises about a value, and not about the file."""


class Writer:
    """Everything that changes the file after it was opened.

    `told` gets a sentence about what could not be kept, `failed` one about what cannot be written now, or None when all
    is written, `gone` the ids of tasks that were removed or hidden, and `found_damage` is called where the file is
    damaged: all in the thread. `seam` is called before and after every write, with its name: a test may end the process
    there.
    """

    def __init__(
        self,
        *,
        connection: sqlite3.Connection,
        file: Fixed,
        files: TaskFiles,
        owner: Owner,
        policy: RetentionPolicy,
        told: Callable[[str], None],
        gone: Callable[[Iterable[TaskId]], None],
        failed: Callable[[str | None], None],
        found_damage: Callable[[], None],
        seam: Callable[[str], None],
    ) -> None:
        self.queue = WriterQueue()
        self.written_count = 0
        """How many entries of the queue are in the file."""
        self._connection = connection
        self._file = file
        self._files = files
        self._owner = owner
        self.eviction = Eviction(connection, policy)
        self._told = told
        self._gone = gone
        self._failed = failed
        self._found_damage = found_damage
        self._seam = seam
        self._unsaved = rows.Unsaved()
        self._transcripts = Transcripts(files, failed=self._tell_failure, dropped=self._drop, seam=seam)
        self._takeovers: tuple[Takeover, ...] = ()
        self._discards: tuple[Discard, ...] = ()
        self._outputs: set[tuple[TaskId, int]] = set()
        self._lost: set[TaskId] = set()
        self._dropped: set[TaskId] = set()
        self._fact: str | None = None
        self._is_beating = False
        self._now_ms = 0
        self._beaten_s = time.monotonic()
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

    def write_now(self, now_ms: int, fact: str) -> None:
        """Write what is queued in the caller's thread, and `fact` with it or not at all; only before `start`."""
        self._now_ms = now_ms
        self._fact = fact
        self._write(self.queue.take())

    @property
    def has_all(self) -> bool:
        """Whether everything that was put into the queue is in the files."""
        return self.written_count >= self.queue.put_count and not self._transcripts.is_behind

    @property
    def unwritten(self) -> tuple[TaskId, ...]:
        """The tasks that a later write has to write; only when the thread has ended."""
        return tuple(self._unsaved.tasks)

    def _run(self) -> None:
        try:
            while not self._is_closed:
                self.queue.wait(0.0 if self.eviction.is_due else self._until_beat_s())
                self._write(self.queue.take())
            self._write(self.queue.take())
            self._leave()
        finally:
            self._is_closed = True
            self.queue.end()
            self._files.close_all()
            self._connection.close()

    def _until_beat_s(self) -> float:
        return max(0.0, self._beaten_s + HEARTBEAT_S - time.monotonic())

    def _write(self, batch: Batch) -> None:
        """Nothing that is in a batch may end the thread, or keep those who wait for it."""
        try:
            self._write_down(batch)
        except (sqlite3.Error, OSError) as exc:
            self._tell_failure(exc)
        except Exception as exc:  # noqa: BLE001  a task may hold anything, and a later one must still be written
            for task_id in {*self._unsaved.tasks, *(task.id for task, _ in batch.saved), *batch.behind}:
                self._drop(task_id, exc)
            self._unsaved, self._takeovers, self._discards = rows.Unsaved(), (), ()
        else:
            self._is_failing = self._transcripts.is_behind
            if not self._is_failing:
                self._failed(None)
            self.written_count = batch.count
        finally:
            for then in batch.waiting:
                then()
        self._make_room()

    def _write_down(self, batch: Batch) -> None:
        """Append before the rows are written: a row never knows more than its transcript."""
        if batch.look is not None:
            self.eviction.policy, self.eviction.is_overdue = batch.look.policy, True
            self._now_ms = batch.look.now_ms
        self._takeovers += batch.takeovers
        self._discards += batch.discards
        for task, event in batch.saved:
            self._now_ms = task.updated_ms
            if type(event) not in STREAMED:
                self._unsaved.add(task, event)
        try:
            self._file.check()
        except OSError as exc:  # nor are the transcripts where they were
            self._tell_failure(exc)
            self._files.begin_anew()
        self._transcripts.write(batch)
        self._commit()
        if batch.look is not None or self.eviction.is_urgent:
            self._make_room()

    def _tell_failure(self, exc: Exception) -> None:
        """Once, until all is written again."""
        if is_damage(exc):
            self._found_damage()
        if not self._is_failing:
            self._failed(f"Tasks could not be written and are kept in memory until they can: {exc}.")
        self._is_failing = True

    def _drop(self, task_id: TaskId, exc: Exception) -> None:
        """Once for each task: what it holds would be refused again."""
        if task_id not in self._dropped:
            self._told(f"Not all of task '{task_id}' can be written; what cannot is not kept: {exc}.")
        self._dropped.add(task_id)

    # Rows

    def _commit(self) -> None:
        now_s = time.monotonic()
        is_due = now_s - self._beaten_s >= HEARTBEAT_S
        if not (self._unsaved.tasks or self._takeovers or self._discards or is_due or self._fact):
            return
        if is_due:
            self._beaten_s, self._is_beating = now_s, True  # also when it fails: then with the next one
        self._file.check()
        ready = self._ready()
        self._seam("before commit")
        with transaction(self._connection):
            if is_due:
                rows.beat(self._connection, self._owner.id, self._owner.slot, self._owner.process, wall_clock_ms())
            for damaged in self._discards:
                rows.discard(self._connection, damaged.number, damaged.task_id)
            taken = [each for each in self._takeovers if self._take_over(each)]
            lost = [row.task.id for row in ready if not self._save(row)]
            leaving = self.eviction.after(self._unsaved.created, self._now_ms)
            if self._fact is not None:
                rows.save_fact(self._connection, self._fact)
        self._seam("after commit")
        self._fact = None
        self.eviction.leaving = leaving
        not_ours = [each.task.id for each in self._takeovers if each not in taken]
        self._unsaved, self._takeovers, self._discards = rows.Unsaved(), (), ()
        self._outputs -= {(row.task.id, n) for row in ready if row.task.is_terminal for n in row.large}
        self._gone(not_ours)
        for each in taken:
            self._close_transcript(each)
        self._lost.update(lost)
        self._transcripts.lose(lost)
        for task_id in lost:
            self._told(f"Task '{task_id}' belongs to another process now; what this one did since then is not kept.")

    def _ready(self) -> list[rows.Row]:
        """The rows, with their outputs written; a task that makes no row is dropped."""
        ready: list[rows.Row] = []
        for task_id, task in tuple(self._unsaved.tasks.items()):
            try:
                ready.append(rows.Row.of(task))
            except Exception as exc:  # noqa: BLE001  whatever its fields hold
                self._drop(task_id, exc)
        for row in ready:
            self._write_outputs(row)
        return ready

    def _save(self, row: rows.Row) -> bool:
        """False if the task is somebody else's now."""
        if row.task.id in self._lost:
            return True
        try:
            return self._save_row(row)
        except _WRONG_VALUE as exc:
            self._drop(row.task.id, exc)
        except (sqlite3.Error, OSError):
            raise
        except Exception as exc:  # noqa: BLE001  a number too large, a text that is none
            self._drop(row.task.id, exc)
        return True

    def _save_row(self, row: rows.Row) -> bool:
        task_id = row.task.id
        write = rows.insert if task_id in self._unsaved.created else rows.update
        if not write(self._connection, row, self._owner.id) and not (
            task_id in self._dropped and rows.insert(self._connection, row, self._owner.id)
        ):
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

    def _make_room(self) -> None:
        """Remove what has left, and with each heartbeat and at the end hide what is past its time; nobody waits."""
        if not (self._is_beating or self._is_closed or self.eviction.is_due):
            return
        self._is_beating = False
        try:
            removed, hidden = self.eviction.remove(self._now_ms)
        except sqlite3.Error as exc:
            self._tell_failure(exc)
            return
        self._gone((*removed, *hidden))
        self._transcripts.forget(removed)
        for task_id, numbers in removed.items():
            self._files.remove(task_id, numbers)

    def _leave(self) -> None:
        """What this store still owned, which an orderly end leaves none of, is a dead owner's from now on."""
        try:
            self._connection.execute("DELETE FROM owners WHERE id = ?", (self._owner.id,))
        except sqlite3.Error as exc:
            self._told(f"The registry of tasks could not be closed: {exc}.")
