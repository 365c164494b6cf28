"""Tasks in a SQLite file that several processes share: the default."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread
from anyio.lowlevel import current_token

from ohm_subagents._store.expiry import Expiry
from ohm_subagents._store.files import TaskFiles
from ohm_subagents._store.history import written_down
from ohm_subagents._store.notes import Notes
from ohm_subagents._store.owners import Neighbours, registered
from ohm_subagents._store.place import Fixed, damage_mark, mark_damaged
from ohm_subagents._store.reader import Reader
from ohm_subagents._store.record import damaged
from ohm_subagents._store.recovery import recovered, told
from ohm_subagents._store.retention import expired, unknown
from ohm_subagents._store.stored import ALL, EVERY, live_of, of_session, with_id
from ohm_subagents._store.transcript import STREAMED
from ohm_subagents._store.writer import Writer
from ohm_subagents._store.writer_queue import Takeover
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents._store.stored import Listing, Stored, Which
    from ohm_subagents.contract.diagnostics import Diagnostic
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
        is_sound: bool | None,
        made_anew: Callable[[int], SqliteStore],
    ) -> None:
        self._file = file
        self._made_anew = made_anew
        self._clock = clock
        self._notes = Notes(file)
        self.tell = self._notes.tell
        # The thread that writes takes out of it: go through a copy, which other threads see as one step.
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
            failed=self._notes.fail,
            found_damage=self._mark_damaged,
            seam=seam,
        )
        self._queue = self._writer.queue
        self._expiry = Expiry(clock, policy, self._queue)
        self._reading = reading
        self._reader = Reader(
            reading,
            self._files,
            tell_once=self._notes.tell_once,
            found_damage=self._mark_damaged,
            discard=self._queue.put,
            is_sound=is_sound,
        )
        self._neighbours = Neighbours(self._reader, self._owner)

    def begin(self, fact: str) -> None:
        """Recover what dead owners left, write it with what was taken in and `fact`, then let the thread work."""
        for owner in self._neighbours.dead():
            for row in self._reader.rows(live_of(owner)) or ():
                if isinstance(loaded := self._loaded(row), Err):
                    self._notes.tell_once(loaded.err_value.message)
        self._writer.write_now(self._clock(), fact)
        self._reading.execute("PRAGMA query_only = ON")
        self._writer.start()

    def _mark_damaged(self) -> None:
        mark_damaged(self._file)

    def save(self, task: Task, event: Event) -> None:
        self._newest[task.id] = task
        self._queue.save(task, event)
        if task.ended_ms is not None and type(event) not in STREAMED:
            self._remember_settled(task)

    def _remember_settled(self, task: Task) -> None:
        """Keep it at hand, and drop the oldest that are safely in the file."""
        streamed = sum(map(len, task.activity.said)) + len(task.activity.checkpoint or "")
        size = streamed + sum(len(run.output or "") for run in task.runs)
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
        self._expiry.is_written()
        for task_id in task_ids:
            self._newest.pop(task_id, None)

    def take_in(self, task: Task) -> None:
        """A settled task that was kept somewhere else."""
        self._newest[task.id] = task
        self._queue.put_whole(task)
        self._remember_settled(task)

    def retain(self, policy: RetentionPolicy) -> None:
        self._expiry.retain(policy)

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
            self._notes.tell_once("Tasks are kept in memory only: the thread that wrote them has ended.")

    def close(self) -> None:
        """Write everything and let go of the file; what a damaged one does not take goes into the one made of it."""
        self._writer.close()
        self._reading.close()
        left = self._writer.unwritten
        if left and damage_mark(self._file).exists():
            with suppress(Exception):  # it is told below
                anew = self._made_anew(self._owner.id)
                for task_id in left:
                    anew.take_in(self._newest[task_id])
                anew.close()
                self._notes.take(anew.diagnostics)
                left = anew._writer.unwritten  # noqa: SLF001  one of us
        if left:
            self.tell(f"{len(left)} task(s) were never written and are gone with this process: {', '.join(left)}.")

    # Reading

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self._notes.all

    @property
    def place(self) -> str:
        return str(self._file)

    @property
    def first_sequence(self) -> int:
        return self._owner.slot * SEQUENCES + 1

    def count(self) -> int:
        found = dict(self._reader.found("SELECT what, n FROM counts") or ())
        return found["tasks"] - found["expired"] - len(self._writer.eviction.leaving) if found else len(self._newest)

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        if (task := self._newest.get(task_id)) is not None:
            return self._within_retention(task)
        if found := [row for row in self._reader.rows(with_id(task_id)) or () if not self._expiry.is_found(row)]:
            loaded = self._loaded(found[0])
            return self._within_retention(loaded.ok_value) if isinstance(loaded, Ok) else loaded
        if why := self._reader.found("SELECT why FROM gone WHERE id = ?", task_id):
            return Err(expired(task_id, why[0][0]))
        aside = self._files.aside(task_id)
        return Err(damaged(task_id, "and was taken out of the table", aside) if aside.exists() else unknown(task_id))

    def _within_retention(self, task: Task) -> Result[Task, OhmError]:
        """What is past its time, or made room, is gone, whether it was removed yet or not."""
        if (why := self._writer.eviction.leaving.get(task.id)) is not None:
            return Err(expired(task.id, why))
        return self._expiry.within(task)

    def tasks(self) -> Iterator[Task]:
        return self._listed(ALL)

    def recent(self) -> tuple[Task, ...]:
        newest = self._newest.copy().values()
        return tuple(task for task in newest if isinstance(self._within_retention(task), Ok))

    def session(self, session_id: SessionId) -> tuple[Task, ...]:
        return tuple(self._listed(of_session(session_id)))

    async def history(self, task: Task) -> tuple[Recorded, ...]:
        """From the transcript; where the disk is too slow for it, also from memory."""
        await self.flush()
        unwritten = None if self._writer.has_all else self._newest.get(task.id)
        return await to_thread.run_sync(written_down, task, self._files, unwritten)

    def _listed(self, which: Which) -> Iterator[Task]:
        """From memory where it is newer; what is not in the file yet comes last."""
        mine = self._newest.copy().values()
        newest = {task.id: task for task in mine if which is ALL or task.session_id in which.values}
        unwritten = {task_id for task_id in newest if not self._is_written(task_id)}  # asked before the file is read
        found = self._reader.rows(which)
        if found is None:
            unwritten = set(newest)
        for row in found or ():
            if self._expiry.is_found(row):
                continue
            unwritten.discard(row.id)
            known = newest.get(row.id)
            loaded = self._loaded(row) if known is None else Ok(known)
            if isinstance(loaded, Ok) and isinstance(self._within_retention(loaded.ok_value), Ok):
                yield loaded.ok_value
        yield from (task for task_id, task in newest.items() if task_id in unwritten)

    def _is_written(self, task_id: TaskId) -> bool:
        """Whether it has settled and is in the file, where somebody else may have removed it."""
        return task_id in self._settled and self._settled[task_id][0] <= self._writer.written_count

    def is_foreign(self, task_id: TaskId) -> bool:
        if task_id in self._newest:
            return False
        return self._neighbours.work_on(task_id)

    def owner_pid(self, task_id: TaskId) -> int | None:
        """The number of the living process that runs the task, where that number means something."""
        return self._neighbours.pid_of(task_id)

    def number(self, listing: Listing) -> int:
        """How many tasks there are of a kind."""
        return self._reader.number(listing)

    def outlines(self, listing: Listing = EVERY) -> Iterator[Result[Task, OhmError]]:
        """Tasks, newest first, without what transcript, large outputs and conversation hold: as many as are taken."""
        for row in self._reader.outlines(listing):
            if row.id not in self._writer.eviction.leaving and not self._expiry.is_found(row):
                yield self._reader.outline(row) if row.wrong is None else self._loaded(row)

    def _loaded(self, row: Stored) -> Result[Task, OhmError]:
        """The task of a row; one whose owner has died is failed on the way."""
        is_anybodys = row.ended_ms is None and (row.owner == self._owner.id or self._neighbours.is_alive(row.owner))
        if row.wrong is not None:  # whoever has it in memory writes it again
            return Err(damaged(row.id, row.wrong) if is_anybodys else self._reader.put_aside(row))
        read = self._reader.task(row)
        if isinstance(read, Err) or row.ended_ms is not None or is_anybodys:
            return read
        newest = next(iter(self._reader.rows(with_id(row.id)) or ()), row)
        if newest != row:  # the last word of its owner, written after we read the row and before we looked for him
            return self._loaded(newest)
        task = read.ok_value
        settled, events = recovered(task, now_ms=self._clock())
        self._notes.take((told(task),))
        self._newest[row.id] = settled
        self._queue.put(Takeover(task=settled, events=events, former=row.owner))
        self._remember_settled(settled)
        return Ok(settled)
