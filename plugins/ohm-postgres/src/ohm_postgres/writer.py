"""The thread that writes: one transaction for all that has come together."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ohm_postgres import outbox_rows, owners, rows
from ohm_postgres.backlog import Backlog
from ohm_postgres.link import LOST
from ohm_postgres.owners import HEARTBEAT_S
from ohm_postgres.rows import Change
from ohm_subagents.contract import TaskId
from ohm_subagents.store import WriterQueue, log_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from psycopg import Connection

    from ohm_postgres.eviction import Eviction
    from ohm_postgres.link import Link
    from ohm_postgres.owners import Owner
    from ohm_subagents.store import Batch, Notes, Takeover, Task

MAX_CHECKPOINT: Final = 4 * 1024 * 1024
"""In characters."""
_RETRY_S: Final = 1.0


@dataclass(slots=True)
class _Written:
    """The outcome of a transaction."""

    gone: list[TaskId] = field(default_factory=list[TaskId])
    lost: list[TaskId] = field(default_factory=list[TaskId])
    not_ours: list[TaskId] = field(default_factory=list[TaskId])
    settled: list[int] = field(default_factory=list[int])
    has_asked: bool = False


class Writer:
    """Everything that changes the database after it was opened.

    `forget` gets the ids of tasks that were removed, hidden or lost; `on_settled` is called when tasks that settled are
    in the database, and `at_heartbeat` now and then, with the connection. All are called in the thread.
    """

    def __init__(
        self, link: Link, owner: Owner, notes: Notes, eviction: Eviction, *, forget: Callable[[Iterable[TaskId]], None]
    ) -> None:
        self.queue = WriterQueue[Change]()
        self.on_settled: Callable[[], None] = lambda: None
        self.at_heartbeat: Callable[[Connection], None] = lambda _connection: None
        self.written_count = 0
        """The number of entries of the queue that are in the database."""
        self._link = link
        self._owner = owner
        self._notes = notes
        self._eviction = eviction
        self._forget = forget
        self._backlog = Backlog(self._drop, self._shortened)
        self._batch = 0
        self._is_in_doubt = False
        """The newest batch was sent, and no answer came."""
        self._failed_s: float | None = None
        self._lost: set[TaskId] = set()
        self._dropped: set[TaskId] = set()
        self._now_ms = 0
        self._heartbeat_s = time.monotonic()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="ohm-postgres writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Write what is left, remove the owner, and end the thread."""
        self._is_closed = True
        self.queue.hurry()
        self._thread.join()

    def write_now(self, now_ms: int) -> None:
        """Write what is queued in the caller's thread; only before `start`."""
        self._now_ms = now_ms
        self._write(self.queue.take())

    @property
    def unwritten(self) -> tuple[TaskId, ...]:
        """The tasks of which something is not in the database, though it was tried."""
        return tuple(self._backlog.task_ids)

    def _run(self) -> None:
        try:
            while not self._is_closed:
                self.queue.wait(self._until_next_s())
                self._write(self.queue.take())
            self._write(self.queue.take())
            self._leave()
        finally:
            self._is_closed = True
            self.queue.end()
            self._link.drop()

    def _until_next_s(self) -> float:
        if self._eviction.is_overdue and self._failed_s is None:
            return 0.0
        due_s = self._heartbeat_s + HEARTBEAT_S if self._failed_s is None else self._failed_s + _RETRY_S
        return max(0.0, due_s - time.monotonic())

    def _write(self, batch: Batch[Change]) -> None:
        """Nothing that is in a batch may end the thread, or keep those who wait for it."""
        flushes, batch.flushes = batch.flushes, []
        try:
            self._backlog.add(batch)
            self._write_all()
        finally:
            for flush in flushes:
                flush()

    def _write_all(self) -> None:
        """Write the backlog. A connection that was lost is made anew once, at once; later again and again."""
        for is_last in (False, True):
            try:
                if self._is_in_doubt:
                    self._end_doubt()
                while (first := self._backlog.first()) is not None:
                    self._write_first(first)
                self._beat()
            except LOST as exc:
                self._link.drop()
                if is_last:
                    self._report_failure(exc)
            else:
                self._failed_s = None
                self._notes.fail(None)
                return

    def _end_doubt(self) -> None:
        """Ask if the batch whose answer was lost is there."""
        if owners.written_batch(self._link.connection, self._owner) == self._batch:
            self._backlog_done()
        self._is_in_doubt = False

    def _backlog_done(self) -> None:
        first = self._backlog.first()
        if first is not None:
            self.written_count = max(self.written_count, first.count)
            self._backlog.done()

    def _write_first(self, first: Batch[Change]) -> None:
        try:
            written = self._commit(first)
        except LOST:
            raise
        except Exception as exc:  # noqa: BLE001  a task may hold anything, and a later one must still be written
            if not self._backlog.divide():
                for task_id in first.changes:
                    self._drop(task_id, exc)
                self._backlog_done()
            return
        self._backlog_done()
        self._lost -= {each.task.id for each in first.takeovers}.difference(written.not_ours)
        self._lost.update(written.lost)
        self._forget([*written.gone, *written.not_ours])
        if written.settled:
            self.on_settled()
        for task_id in written.lost:
            self._notes.note(
                f"Task '{task_id}' belongs to another process now; what this one did since then is not kept."
            )

    def _report_failure(self, exc: Exception) -> None:
        why = self._link.address.told(exc)
        self._failed_s = time.monotonic()
        self._notes.fail(f"Tasks could not be written and are kept in memory until they can: {why}.")
        self._backlog.give_up_takeovers()

    def _drop(self, task_id: TaskId, exc: Exception) -> None:
        """Report what cannot be written, once for each task: it would be refused again."""
        if task_id not in self._dropped:
            why = self._link.address.told(exc)
            self._notes.note(f"Not all of task '{task_id}' can be written; what cannot is not kept: {why}.")
        self._dropped.add(task_id)

    def _shortened(self, tasks: int) -> None:
        self._notes.note_once(
            "Tasks could not be written for long: of what happened in them meanwhile only the outcome is kept"
            f" ({tasks} tasks)."
        )

    # One transaction

    def _commit(self, batch: Batch[Change]) -> _Written:
        if batch.expired is not None:
            self._eviction.policy, self._eviction.is_overdue = batch.expired.policy, True
            self._now_ms = batch.expired.now_ms
        for changes in batch.changes.values():
            self._now_ms = changes.task.updated_ms
        connection = self._link.connection
        self._batch += 1
        written = _Written()
        self._is_in_doubt = self._owner.id != owners.NOBODY
        try:
            with connection.transaction():
                self._change(connection, batch, written)
        except LOST:
            self._eviction.is_overdue = True
            raise
        except BaseException:
            self._is_in_doubt, self._eviction.is_overdue = False, True
            raise
        self._is_in_doubt = False
        self._heartbeat_s = time.monotonic()
        return written

    def _change(self, connection: Connection, batch: Batch[Change], written: _Written) -> None:
        if self._owner.id != owners.NOBODY:
            owners.renew(connection, self._owner, self._batch)
        for takeover in batch.takeovers:
            self._take_over(connection, takeover, written)
        self._save(connection, batch, written)
        for each in batch.others:
            each.write(connection)
        outbox_rows.settle(connection, written.settled)
        if written.has_asked:
            outbox_rows.tell(connection)
        created = sum(each.is_created for each in batch.changes.values())
        written.gone = self._eviction.after(connection, created, self._now_ms)

    def _save(self, connection: Connection, batch: Batch[Change], written: _Written) -> None:
        """Write the changes of tasks; those that belong to another process now are lost."""
        changed = {key: each for key, each in batch.changes.items() if key not in self._lost or each.is_created}
        created = [each.task for each in changed.values() if each.is_created]
        numbers = rows.insert(connection, created, self._owner.id)
        known = [task_id for task_id, each in changed.items() if not each.is_created]
        late = [task_id for task_id in known if changed[task_id].is_late]
        numbers |= rows.settled(connection, late) | rows.mine(connection, known, self._owner.id)
        written.lost = [key for key, each in changed.items() if key not in numbers and not each.is_all_late]
        ours = {numbers[task_id]: each for task_id, each in changed.items() if task_id in numbers}
        rows.append(connection, {seq: log_lines(each.entries, lambda _exc: None) for seq, each in ours.items()})
        rows.update(connection, {seq: each.task for seq, each in ours.items() if each.is_moved})
        rows.save_checkpoints(
            connection, {seq: self._checkpoint(each.task) for seq, each in ours.items() if each.has_checkpoint}
        )
        written.settled += [seq for seq, each in ours.items() if each.has_settled]
        written.has_asked = any(each.is_awaited and not each.has_settled for each in ours.values())

    def _checkpoint(self, task: Task) -> str | None:
        state = task.activity.checkpoint or ""
        if len(state) <= MAX_CHECKPOINT:
            return state
        self._notes.note_once(
            f"The conversation of task '{task.id}' is longer than {MAX_CHECKPOINT} characters and is not kept;"
            " what continues it starts from its prompts and answers."
        )
        return None

    def _take_over(self, connection: Connection, entry: Takeover, written: _Written) -> None:
        """Take over a task of a dead owner, unless another process was faster."""
        task = entry.task
        seq = rows.take(connection, task, self._owner.id, entry.former)
        if seq is None:
            written.not_ours.append(task.id)
            return
        stamped = [(task.updated_ms, event) for event in entry.events]
        rows.append(connection, {seq: log_lines(stamped, lambda _exc: None)})
        if task.is_terminal:
            written.settled.append(seq)

    # Beside it

    def _beat(self) -> None:
        """Renew the lease and make room, if it is time to."""
        is_due = time.monotonic() - self._heartbeat_s >= HEARTBEAT_S
        if not (is_due or self._eviction.is_overdue):
            return
        connection = self._link.connection
        with connection.transaction():
            if self._owner.id != owners.NOBODY:
                owners.renew(connection, self._owner, self._batch)
            self._eviction.is_overdue |= is_due and self._owner.id != owners.NOBODY
            gone = self._eviction.after(connection, 0, self._now_ms)
        self._heartbeat_s = time.monotonic()
        self._forget(gone)
        if is_due:
            self.at_heartbeat(connection)

    def _leave(self) -> None:
        try:
            owners.leave(self._link.connection, self._owner)
        except LOST as exc:
            self._notes.note(f"The registry of tasks could not be closed: {self._link.address.told(exc)}.")
