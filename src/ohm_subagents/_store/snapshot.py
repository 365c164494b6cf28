"""Tasks in the documented JSON file (task-v1, 13), which one process uses at a time.

The file has no place for sessions, conversation states, usage, files written and diagnostics of a task: after a restart
they are gone.
"""

from __future__ import annotations

import fcntl
import os
import threading
from typing import TYPE_CHECKING, Final

from ohm_subagents._store.memory import MemoryStore
from ohm_subagents._store.place import make_private
from ohm_subagents._store.recovery import recovered, told
from ohm_subagents._store.snapshot_reading import parsed
from ohm_subagents._store.snapshot_text import FILE, printed
from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents._store.snapshot_reading import Contents
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event, Recorded
    from ohm_subagents.contract.ids import Clock, SessionId, TaskId
    from ohm_subagents.contract.result import Result
    from ohm_subagents.contract.task import Task

DEBOUNCE_S: Final = 0.2


class SnapshotStore:
    """A `MemoryStore` that is written down: in any case by `flush`, else soon after a change.

    Raises BlockingIOError while another process uses the file, and OSError where it cannot be read or written.
    """

    first_sequence = 1

    def __init__(
        self, directory: Path, *, clock: Clock, policy: RetentionPolicy, name_of: Callable[[str], str]
    ) -> None:
        make_private(directory)
        self._file = directory / FILE
        self._clock = clock
        self._diagnostics: list[Diagnostic] = []
        self._inner = MemoryStore(clock, policy)
        self._writing = threading.Lock()
        self._timer: threading.Timer | None = None
        self._is_stale = False
        self._hidden: set[TaskId] = set()
        self._failure: tuple[Diagnostic, ...] = ()
        """Why it cannot be written, as long as it is so."""
        self._now_ms = clock()
        self._lock = locked(directory)
        try:
            self._load(name_of, policy.max_events)
        except BaseException:
            os.close(self._lock)
            raise

    # Opening

    def _load(self, name_of: Callable[[str], str], max_events: int) -> None:
        try:
            text = self._file.read_bytes().decode(errors="replace")
        except FileNotFoundError:
            if not os.access(self._file.parent, os.W_OK):
                raise PermissionError("its directory may not be written") from None
            return
        contents = parsed(text, name_of=name_of, max_events=max_events)
        if contents.is_damaged:
            self._set_aside(contents)
        self._hidden = {*contents.hidden}
        self._inner.restore((self._settled(task) for task in contents.tasks), contents.expired, contents.hidden)
        has_changed = self._inner.kept != contents.tasks
        if has_changed or (contents.is_damaged and contents.tasks):
            self._is_stale = True
            self._write()

    def _settled(self, task: Task) -> Task:
        """Whoever ran it does so no more: the file is ours alone."""
        if task.is_terminal:
            return task
        self._diagnostics.append(told(task))
        return recovered(task, now_ms=self._now_ms)[0]

    def _set_aside(self, contents: Contents) -> None:
        kept = self._file.with_name(f"{FILE}.corrupt-{self._now_ms}")
        self._file.replace(kept)
        message = f"Recovered corrupt task registry snapshot: {kept}"
        if contents.tasks:
            saved = ", ".join(f"'{task.id}'" for task in contents.tasks)
            message += f". Kept {len(contents.tasks)} task(s): {saved}. Left out {len(contents.lost)}"
            message += f": {'; '.join(contents.lost)}." if contents.lost else "."
        self._tell(message)

    def _tell(self, message: str) -> None:
        self._diagnostics.append(Diagnostic(subject="subagents.store", message=message))

    # Writing

    def save(self, task: Task, event: Event) -> None:
        self._inner.save(task, event)
        self._now_ms = task.updated_ms
        self._is_stale = True
        if self._timer is None:
            self._timer = threading.Timer(DEBOUNCE_S, self._write_late)
            self._timer.daemon = True
            self._timer.start()

    def _write_late(self) -> None:
        self._timer = None
        self._write()

    def _write(self) -> None:
        with self._writing:
            hidden = self._inner.hidden
            if not self._is_stale and hidden.keys() == self._hidden:
                return
            self._is_stale, self._hidden = False, {*hidden}
            draft = self._file.with_name(f".{FILE}.{os.getpid()}")
            try:
                content = printed(self._inner.kept, self._inner.reasons, hidden, now_ms=self._now_ms)
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
        self._inner.retain(policy)
        self._is_stale = True

    # Reading

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return (*self._diagnostics, *self._failure)

    @property
    def place(self) -> str:
        return str(self._file)

    def count(self) -> int:
        return self._inner.count()

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        return self._inner.get(task_id)

    def tasks(self) -> Iterator[Task]:
        return self._inner.tasks()

    def recent(self) -> tuple[Task, ...]:
        return self._inner.recent()

    def session(self, session_id: SessionId) -> tuple[Task, ...]:
        return self._inner.session(session_id)

    async def history(self, task: Task) -> tuple[Recorded, ...]:
        return await self._inner.history(task)

    def is_foreign(self, task_id: TaskId) -> bool:
        return self._inner.is_foreign(task_id)


def locked(directory: Path) -> int:
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
