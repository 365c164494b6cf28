"""The thread that writes events and tasks to the file: one transaction for all that has come together."""

from __future__ import annotations

import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Final

from ohm_subagents.store import WriterQueue, events_of, log_lines
from ohm_subagents.stores.sqlite import control_rows, outbox_rows, rows
from ohm_subagents.stores.sqlite.damage import is_damage
from ohm_subagents.stores.sqlite.eviction import Eviction
from ohm_subagents.stores.sqlite.owners import HEARTBEAT_S, record_heartbeat, wall_clock_ms
from ohm_subagents.stores.sqlite.rows import Change, Discard
from ohm_subagents.stores.sqlite.schema import transaction
from ohm_subagents.stores.sqlite.wakers import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.store import Batch, Changes, RetentionPolicy, Takeover
    from ohm_subagents.stores.sqlite.owners import Owner
    from ohm_subagents.stores.sqlite.place import FileNotes, Fixed

MAX_CHECKPOINT: Final = 4 * 1024 * 1024
"""In characters."""
_WRONG_VALUE: Final = (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""Errors of SQLite about a value, and not about the file."""


class Writer:
    """Everything that changes the file after it was opened.

    `forget` gets the ids of tasks that were removed or hidden, in the thread; `tell` is called there with what is in
    the file now, and `at_heartbeat` now and then, with the connection. `fault_point` is called before and after every
    write, and within its transaction, with the name of the step: a test may end the process there.
    """

    def __init__(
        self,
        *,
        connection: sqlite3.Connection,
        file: Fixed,
        owner: Owner,
        policy: RetentionPolicy,
        is_reader: bool,
        notes: FileNotes,
        forget: Callable[[Iterable[TaskId]], None],
        fault_point: Callable[[str], None],
    ) -> None:
        self.queue = WriterQueue[Change]()
        self.at_heartbeat: Callable[[sqlite3.Connection], None] = lambda _connection: None
        self.tell: Callable[[Told], None] = _nobody
        self.written_count = 0
        """The number of entries of the queue that are in the file."""
        self.eviction = Eviction(connection, policy, is_reader=is_reader)
        self._connection = connection
        self._file = file
        self._owner = owner
        self._notes = notes
        self._forget = forget
        self._fault_point = fault_point
        self._unwritten: dict[TaskId, Changes] = {}
        self._takeovers: list[Takeover] = []
        self._discards: list[Discard] = []
        self._others: list[Change] = []
        self._mark: str | None = None
        self._lost: set[TaskId] = set()
        self._dropped: set[TaskId] = set()
        self._is_sweep_due = False
        self._now_ms = 0
        self._heartbeat_s = time.monotonic()
        self._is_failing = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="ohm-subagents store", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what is left, remove the owner, and end the thread."""
        self._is_closed = True
        self.queue.hurry()
        self._thread.join()

    def write_now(self, now_ms: int, mark: str | None) -> None:
        """Write what is queued in the caller's thread, and `mark` with it or not at all; only before `start`."""
        self._now_ms = now_ms
        self._mark = mark
        self._write(self.queue.take())

    @property
    def unwritten(self) -> tuple[TaskId, ...]:
        """The tasks of which something was not written; only when the thread has ended."""
        return tuple(self._unwritten)

    def is_behind(self, task_id: TaskId) -> bool:
        """Return True if something of the task could not be written yet."""
        return task_id in self._unwritten

    def _run(self) -> None:
        try:
            while not self._is_closed:
                self.queue.wait(0.0 if self.eviction.is_due else self._until_heartbeat_s())
                self._write(self.queue.take())
            self._write(self.queue.take())
            self._leave()
        finally:
            self._is_closed = True
            self.queue.end()
            self._connection.close()

    def _until_heartbeat_s(self) -> float:
        return max(0.0, self._heartbeat_s + HEARTBEAT_S - time.monotonic())

    def _write(self, batch: Batch[Change]) -> None:
        """Nothing that is in a batch may end the thread, or keep those who wait for it."""
        try:
            self._write_all(batch)
            if batch.expired is not None or self.eviction.is_urgent:
                self._make_room()
        finally:
            for flush in batch.flushes:
                flush()
        self._make_room()

    def _write_all(self, batch: Batch[Change]) -> None:
        try:
            self._take_in(batch)
            self._commit()
        except (sqlite3.Error, OSError) as exc:
            self._report_failure(exc)
        except Exception as exc:  # noqa: BLE001  a task may hold anything, and a later one must still be written
            for task_id in self._unwritten:
                self._drop(task_id, exc)
            self._unwritten, self._takeovers, self._discards, self._others = {}, [], [], []
        else:
            self._is_failing = False
            self._notes.fail(None)
            self.written_count = batch.count

    def _take_in(self, batch: Batch[Change]) -> None:
        if batch.expired is not None:
            self.eviction.policy, self.eviction.is_overdue = batch.expired.policy, True
            self._now_ms = batch.expired.now_ms
        self._takeovers += batch.takeovers
        for each in batch.others:
            if isinstance(each, Discard):
                self._discards.append(each)
            else:
                self._others.append(each)
        for task_id, changes in batch.changes.items():
            if task_id not in self._lost:
                self._now_ms = changes.task.updated_ms
                self._add(task_id, changes)

    def _add(self, task_id: TaskId, changes: Changes) -> None:
        changes.entries = [log_lines(changes.entries, lambda exc: self._drop(task_id, exc))]
        if task_id in self._unwritten and not changes.is_created:
            self._unwritten[task_id].follow(changes)
        else:
            self._unwritten[task_id] = changes

    def _report_failure(self, exc: Exception) -> None:
        """Report a failure, once until everything is written again."""
        if is_damage(exc, self._connection):
            self._notes.mark_damaged()
        if not self._is_failing:
            self._notes.fail(f"Tasks could not be written and are kept in memory until they can: {exc}.")
        self._is_failing = True
        self._takeovers = [each for each in self._takeovers if not each.is_tried_once]

    def _drop(self, task_id: TaskId, exc: Exception) -> None:
        """Report what cannot be written, once for each task: it would be refused again."""
        if task_id not in self._dropped:
            self._notes.note(f"Not all of task '{task_id}' can be written; what cannot is not kept: {exc}.")
        self._dropped.add(task_id)

    # One transaction

    def _commit(self) -> None:
        now_s = time.monotonic()
        is_due = now_s - self._heartbeat_s >= HEARTBEAT_S
        if not (self._unwritten or self._takeovers or self._discards or self._others or is_due or self._mark):
            return
        if is_due:
            self._heartbeat_s, self._is_sweep_due = now_s, True  # also when it fails: then with the next one
        self._file.check()
        created = {task_id for task_id, changes in self._unwritten.items() if changes.is_created}
        self._fault_point("before transaction")
        with transaction(self._connection):
            if is_due:
                record_heartbeat(self._connection, self._owner, wall_clock_ms())
            for damaged in self._discards:
                damaged.write(self._connection)
            not_ours = [each.task.id for each in self._takeovers if not self._take_over(each)]
            lost = [task_id for task_id, changes in self._unwritten.items() if not self._save(task_id, changes)]
            told = control_rows.told(self._connection, self._others)
            for each in self._others:
                each.write(self._connection)
            leaving = self.eviction.after(created, self._now_ms)
            if self._mark is not None:
                rows.mark(self._connection, self._mark)
            self._fault_point("before commit")
        self._fault_point("after commit")
        self._mark = None
        self.eviction.leaving = leaving
        self._lost -= {each.task.id for each in self._takeovers}.difference(not_ours)
        has_settled = bool(self._takeovers) or any(each.is_awaited for each in self._unwritten.values())
        has_events = bool(self._unwritten or self._takeovers)
        self._unwritten, self._takeovers, self._discards, self._others = {}, [], [], []
        self._forget(not_ours)
        self._lost.update(lost)
        for task_id in lost:
            self._notes.note(
                f"Task '{task_id}' belongs to another process now; what this one did since then is not kept."
            )
        if is_due:
            self.at_heartbeat(self._connection)
        self.tell(Told(has_events=has_events, has_settled=has_settled, commands_to=told))

    def _save(self, task_id: TaskId, changes: Changes) -> bool:
        """Write the changes of a task; return False if it belongs to another process now."""
        try:
            return self._save_task(task_id, changes)
        except _WRONG_VALUE as exc:
            self._drop(task_id, exc)
        except (sqlite3.Error, OSError):
            raise
        except Exception as exc:  # noqa: BLE001  a number too large, a value that is no text
            self._drop(task_id, exc)
        return True

    def _save_task(self, task_id: TaskId, changes: Changes) -> bool:
        connection, task, owner = self._connection, changes.task, self._owner.id
        text = b"".join(each for each in changes.entries if isinstance(each, bytes))  # `_add` has made lines of them
        if changes.is_created:
            is_ours = rows.insert(connection, task, owner, text)
        else:
            is_ours = rows.append(connection, task_id, owner, text, is_late=changes.is_late)
            if is_ours and changes.is_moved:
                rows.update(connection, task, owner)
            if not is_ours and task_id in self._dropped:  # its beginning could not be written
                known = [(one.at_ms, one.event) for one in events_of(task)]
                is_ours = rows.insert(connection, task, owner, log_lines([*known, task], lambda _: None))
        if is_ours and changes.has_settled:
            outbox_rows.settle(connection, task)
        if is_ours and changes.has_checkpoint and not rows.save_checkpoint(connection, task, max_chars=MAX_CHECKPOINT):
            self._notes.note(
                f"The conversation of task '{task_id}' is longer than {MAX_CHECKPOINT} characters and is not kept;"
                " what continues it starts from its prompts and answers."
            )
        return is_ours or changes.is_all_late

    def _take_over(self, entry: Takeover) -> bool:
        """Take over a task of a dead owner, unless another process was faster."""
        task = entry.task
        text = log_lines([(task.updated_ms, event) for event in entry.events], lambda _: None)
        if not rows.append(self._connection, task.id, entry.former, text):
            return False
        if not rows.update(self._connection, task, self._owner.id, dead_owner=entry.former):
            return False
        if task.is_terminal:
            outbox_rows.settle(self._connection, task)
        return True

    # Beside it

    def _make_room(self) -> None:
        """Remove what leaves, and with each heartbeat and at the end hide what is past its time."""
        if not (self._is_sweep_due or self._is_closed or self.eviction.is_due):
            return
        self._is_sweep_due = False
        try:
            self._forget(self.eviction.remove(self._now_ms))
        except sqlite3.Error as exc:
            self._report_failure(exc)

    def _leave(self) -> None:
        """Remove the owner: what this store has left unsettled is a dead owner's from now on."""
        try:
            self._connection.execute("DELETE FROM owners WHERE id = ?", (self._owner.id,))
        except sqlite3.Error as exc:
            self._notes.note(f"The registry of tasks could not be closed: {exc}.")


def _nobody(_told: Told) -> None:
    """Tell nobody."""
