"""The processes that share a file: each in a slot of its own, and not mistaken for a later one with the same pid."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.stores.sqlite.schema import transaction

if TYPE_CHECKING:
    import sqlite3

    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.stores.sqlite.reader import Reader

HEARTBEAT_S: Final = 5
SILENT_MS: Final = 30_000
"""A process that cannot be seen from here is dead when it has not recorded a heartbeat for so long."""

_PROC: Final = Path("/proc")
_STATE, _STARTED = 0, 19
_DEAD: Final = frozenset({"Z", "X"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process of this or another machine."""

    pid: int
    started: str
    """When it began, in the system's own words: a clock that is set does not change them."""
    boot: str
    """With `namespace`, where `pid` means something."""
    namespace: str

    @classmethod
    def current(cls) -> Process:
        """Return this process."""
        return cls(pid=os.getpid(), started=_started(os.getpid()) or "", boot=_boot(), namespace=_namespace())

    def is_alive(self, *, heartbeat_ms: int, now_ms: int) -> bool:
        """Return True if it still runs; where its pid means nothing, if its last heartbeat is recent."""
        if (self.boot, self.namespace) != (_boot(), _namespace()):
            return now_ms - heartbeat_ms < SILENT_MS
        return _started(self.pid) == self.started


def _started(pid: int) -> str | None:
    """Return when a process began; None if there is none, or only what its parent has not yet collected."""
    if not os.path.exists(_PROC / "self" / "stat"):
        return _started_elsewhere(pid)
    try:  # read here, since psutil takes 10 ms to import
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE] in _DEAD else fields[_STARTED]


def _started_elsewhere(pid: int) -> str | None:
    import psutil  # noqa: PLC0415  not on Linux, see above

    try:
        process = psutil.Process(pid)
        return None if process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD} else str(process.create_time())
    except psutil.Error:
        return None


@cache
def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()


@cache
def _namespace() -> str:
    try:
        return str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return ""


def wall_clock_ms() -> int:
    """Return the time for heartbeats: other processes read them, and know nothing of an injected clock."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, kw_only=True)
class Owner:
    """This store among those that share the file."""

    id: int
    slot: int
    process: Process


def is_alive(pid: int, started: str, boot: str, namespace: str, heartbeat_ms: int) -> bool:
    """Return True if the process of a row of `owners` still runs."""
    process = Process(pid=pid, started=started, boot=boot, namespace=namespace)
    return process.is_alive(heartbeat_ms=heartbeat_ms, now_ms=wall_clock_ms())


def is_in_use(connection: sqlite3.Connection, *, former: int | None = None) -> bool:
    """Return True if a living process works with the file; `former` is an owner that does so no more."""
    owners = connection.execute("SELECT id, pid, started, boot, namespace, heartbeat_ms FROM owners").fetchall()
    return any(is_alive(*process) for owner, *process in owners if owner != former)


def registered(connection: sqlite3.Connection) -> Owner:
    """Add an owner, in a slot that no living one has. Dead ones are removed, which is how others know they are dead."""
    with transaction(connection):
        owners = connection.execute("SELECT pid, started, boot, namespace, heartbeat_ms, id, slot FROM owners")
        alive: set[int] = set()
        for *process, owner, slot in owners.fetchall():
            if is_alive(*process):
                alive.add(slot)
            else:
                connection.execute("DELETE FROM owners WHERE id = ?", (owner,))
        free = next(slot for slot in range(len(alive) + 1) if slot not in alive)
        number = connection.execute("SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'owners'")
        owner = Owner(id=number.fetchone()[0], slot=free, process=Process.current())
        record_heartbeat(connection, owner, wall_clock_ms())
    return owner


def record_heartbeat(connection: sqlite3.Connection, owner: Owner, now_ms: int) -> None:
    """Record that the owner lives, also for one who has taken it for dead."""
    process = owner.process
    connection.execute(
        "INSERT INTO owners VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET heartbeat_ms = excluded.heartbeat_ms",
        (owner.id, owner.slot, process.pid, process.started, process.boot, process.namespace, now_ms),
    )


class Neighbours:
    """The other owners of the same tables, as far as they can be read."""

    def __init__(self, reader: Reader, me: Owner) -> None:
        self._reader = reader
        self._me = me

    def dead(self) -> list[int]:
        """Return the owners whose process has ended and left tasks unsettled."""
        owners = self._reader.found("SELECT DISTINCT owner FROM tasks WHERE ended_ms IS NULL") or ()
        return [owner for (owner,) in owners if not self.is_at_work(owner)]

    def is_alive(self, owner: int) -> bool:
        """Return True also where that cannot be read: a task is not taken from a process that may be at work."""
        found = self._reader.found("SELECT pid, started, boot, namespace, heartbeat_ms FROM owners WHERE id = ?", owner)
        return found is None or any(is_alive(*process) for process in found)

    def is_at_work(self, owner: int) -> bool:
        """Return True for this store, and for an owner that is alive."""
        return owner == self._me.id or self.is_alive(owner)

    def work_on(self, task_id: TaskId) -> bool:
        """Return True if one of them that lives works on the task."""
        found = self._reader.found("SELECT owner FROM tasks WHERE id = ? AND ended_ms IS NULL", task_id)
        return any(owner != self._me.id and self.is_alive(owner) for (owner,) in found or ())

    def name_of(self, task_id: TaskId) -> str:
        """Return who works on the task: `pid 123`, or `elsewhere` where its pid means nothing."""
        found = self._reader.found(
            "SELECT pid, boot, namespace FROM owners JOIN tasks ON tasks.owner = owners.id"
            " WHERE tasks.id = ? AND ended_ms IS NULL",
            task_id,
        )
        here = self._me.process
        return f"pid {found[0][0]}" if found and found[0][1:] == (here.boot, here.namespace) else "elsewhere"
