"""Tasks in the documented JSON file, which one process uses at a time.

The file has no place for sessions, conversation states, usage, files written and diagnostics of a task: after a restart
they are gone.
"""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.files import os_problem
from ohm_subagents.store import MemoryOutbox, MemoryStore, recovered, recovery_note
from ohm_subagents.stores.snapshot.reading import Contents, parsed
from ohm_subagents.stores.snapshot.text import FILE, printed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import RetentionPolicy, Store, StoreRequest

DEBOUNCE_S: Final = 0.2


@asynccontextmanager
async def open_snapshot(request: StoreRequest) -> AsyncGenerator[Store]:
    """Open the store, and flush and close it at the end. Raises OSError where it cannot be used."""
    try:
        store = SnapshotView(request) if request.is_reader else SnapshotStore(request)
    except BlockingIOError as exc:
        used = f"another process uses the snapshot in '{request.directory}'"
        raise OSError(used) from exc
    except OSError as exc:
        why = f"{os_problem(exc)}: '{exc.filename}'" if exc.filename else exc
        unusable = f"the snapshot in '{request.directory}' cannot be used, {why}"
        raise OSError(unusable) from exc
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.flush()
        store.close()


class SnapshotView(MemoryStore):
    """The tasks of the file as it is: a process that has it open goes on undisturbed. Raises OSError."""

    def __init__(self, request: StoreRequest) -> None:
        file = request.directory / FILE
        super().__init__(request.clock, replace(request.policy, max_entries=sys.maxsize), place=str(file))
        contents = _read(file, request)
        is_used = any(not task.is_terminal for task in contents.tasks) and is_in_use(request.directory)
        self.restore(
            (one if is_used or one.is_terminal else recovered(one, now_ms=one.updated_ms)[0] for one in contents.tasks),
            contents.expired,
            contents.hidden,
        )
        message = f"Some entries of '{file}' cannot be read: {'; '.join(contents.lost)}."
        self._diagnostics = (Diagnostic(subject="subagents.store", message=message),) if contents.lost else ()

    def close(self) -> None:
        """Nothing was opened."""


class SnapshotStore(MemoryStore):
    """A `MemoryStore` that is written down: in any case by `flush`, else soon after a change.

    Raises BlockingIOError while another process uses the file, and OSError where it cannot be read or written.
    """

    def __init__(self, request: StoreRequest) -> None:
        request.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = request.directory / FILE
        super().__init__(request.clock, request.policy, place=str(self._file))
        self.outbox = MemoryOutbox(lambda: self._retention.policy.max_entries, changed=self._note_change)
        self._found: list[Diagnostic] = []
        self._recovered: list[Task] = []
        self._writing = threading.Lock()
        self._timer: threading.Timer | None = None
        self._is_stale = False
        self._written_hidden: set[TaskId] = set()
        self._failure: tuple[Diagnostic, ...] = ()
        """The reason why the file cannot be written now."""
        self._now_ms = request.clock()
        self._lock = _locked(request.directory)
        try:
            self._load(request)
        except BaseException:
            os.close(self._lock)
            raise

    def _load(self, request: StoreRequest) -> None:
        try:
            contents = _read(self._file, request)
        except FileNotFoundError:
            if not os.access(self._file.parent, os.W_OK):
                raise PermissionError("its directory may not be written") from None
            return
        if contents.is_damaged:
            self._set_aside(contents)
        self._written_hidden = {*contents.hidden}
        self.restore((self._settled(task) for task in contents.tasks), contents.expired, contents.hidden)
        if contents.outbox is not None:
            self.outbox.restore(*contents.outbox)
        for task in self._recovered:
            self.outbox.add(task)
        has_changed = tuple(self._tasks.values()) != contents.tasks
        if has_changed or (contents.is_damaged and contents.tasks):
            self._is_stale = True
            self._write()

    def _settled(self, task: Task) -> Task:
        """Return the task as settled: the process that ran it has ended, since the file is used by this one alone."""
        if task.is_terminal:
            return task
        self._found.append(recovery_note(task))
        self._recovered.append(recovered(task, now_ms=self._now_ms)[0])
        return self._recovered[-1]

    def _set_aside(self, contents: Contents) -> None:
        kept = self._file.with_name(f"{FILE}.corrupt-{self._now_ms}")
        self._file.replace(kept)
        message = f"Recovered corrupt task registry snapshot: {kept}"
        if contents.tasks:
            saved = ", ".join(f"'{task.id}'" for task in contents.tasks)
            message += f". Kept {len(contents.tasks)} task(s): {saved}. Left out {len(contents.lost)}"
            message += f": {'; '.join(contents.lost)}." if contents.lost else "."
        self._found.append(Diagnostic(subject="subagents.store", message=message))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return (*self._found, *self._failure)

    def save(self, task: Task, event: Event) -> None:
        super().save(task, event)
        self._now_ms = task.updated_ms
        self._is_stale = True
        if self._timer is None:
            self._timer = threading.Timer(DEBOUNCE_S, self._write_late)
            self._timer.daemon = True
            self._timer.start()

    def _note_change(self) -> None:
        self._is_stale = True

    def _write_late(self) -> None:
        self._timer = None
        self._write()

    def _write(self) -> None:
        """Also from the thread of the timer: so it goes through copies, which other threads see as one step."""
        with self._writing:
            hidden = dict(tuple(self._hidden.items()))
            if not self._is_stale and hidden.keys() == self._written_hidden:
                return
            self._is_stale, self._written_hidden = False, {*hidden}
            draft = self._file.with_name(f".{FILE}.{os.getpid()}")
            try:
                reasons = dict(tuple(self._retention.reasons.items()))
                tasks, outbox = tuple(self._tasks.values()), self.outbox.state()
                content = printed(tasks, reasons, hidden, now_ms=self._now_ms, outbox=outbox)
                with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:  # noqa: PTH123  private at once
                    stream.write(content)
                    stream.flush()
                    os.fsync(stream.fileno())
                draft.replace(self._file)
            except (OSError, TypeError, ValueError) as exc:  # the last two are about what a task holds
                self._is_stale = True
                message = f"Tasks could not be written to '{self._file}': {exc}."
                self._failure = (Diagnostic(subject="subagents.store", message=message),)
            else:
                self._failure = ()

    async def flush(self) -> None:
        self._write()

    def close(self) -> None:
        """Write what is left, and let another process have the file."""
        timer = self._timer
        if timer is not None:
            timer.cancel()
            timer.join()
        self._write()
        os.close(self._lock)

    def retain(self, policy: RetentionPolicy) -> None:
        super().retain(policy)
        self._is_stale = True


def _read(file: Path, request: StoreRequest) -> Contents:
    text = file.read_bytes().decode(errors="replace")
    return parsed(text, name_of=request.name_of, max_events=request.policy.max_events)


def is_in_use(directory: Path) -> bool:
    """Return True if another process uses the snapshot."""
    try:
        os.close(_locked(directory))
    except BlockingIOError:
        return True
    return False


def _locked(directory: Path) -> int:
    """A lock on the directory for as long as the descriptor is open; a lock file would be one file more to explain."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:  # a file system without locks: then there is no telling
        return descriptor
    return descriptor
