"""The processes that share a file, each in a slot of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.store import ELSEWHERE, NO_PROCESS, Process
from ohm_subagents.stores.sqlite.schema import transaction

if TYPE_CHECKING:
    import sqlite3

    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.stores.sqlite.reader import Reader

HEARTBEAT_S: Final = 5
SILENT_MS: Final = 30_000
"""A process that cannot be seen from here is dead when it has not recorded a heartbeat for so long."""


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
    """Return True if the process of a row of `owners` still runs; where its pid means nothing, by its heartbeat."""
    process = Process(pid=pid, started=started, boot=boot, namespace=namespace)
    return process.is_running() if process.is_seen_here else wall_clock_ms() - heartbeat_ms < SILENT_MS


def is_in_use(connection: sqlite3.Connection, *, closed_owner: int | None = None) -> bool:
    """Return True if a living process works with the file; `closed_owner` does so no more."""
    owners = connection.execute("SELECT id, pid, started, boot, namespace, heartbeat_ms FROM owners").fetchall()
    return any(is_alive(*process) for owner, *process in owners if owner != closed_owner)


def register(connection: sqlite3.Connection) -> Owner:
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


def has_dead(connection: sqlite3.Connection, me: Owner) -> bool:
    """Return True if an owner whose process has ended left tasks unsettled."""
    found = connection.execute(
        "SELECT pid, started, boot, namespace, heartbeat_ms FROM"
        " (SELECT DISTINCT owner FROM tasks WHERE ended_ms IS NULL AND owner <> ?)"
        " LEFT JOIN owners ON owners.id = owner",
        (me.id,),
    )
    return any(pid is None or not is_alive(pid, *rest) for pid, *rest in found.fetchall())


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

    def is_mine(self, task_id: TaskId) -> bool:
        """Return True if the file says that this store works on the task."""
        mine = "SELECT 1 FROM tasks WHERE id = ? AND owner = ? AND ended_ms IS NULL"
        return bool(self._reader.found(mine, task_id, self._me.id))

    def work_on(self, task_id: TaskId) -> bool:
        """Return True if one of them that lives works on the task."""
        found = self._reader.found("SELECT owner FROM tasks WHERE id = ? AND ended_ms IS NULL", task_id)
        return any(owner != self._me.id and self.is_alive(owner) for (owner,) in found or ())

    def name_of(self, task_id: TaskId) -> str:
        """Return who works on the task, as `Store.owner`."""
        found = self._reader.found(
            "SELECT pid, started, boot, namespace, heartbeat_ms FROM owners JOIN tasks ON tasks.owner = owners.id"
            " WHERE tasks.id = ? AND ended_ms IS NULL",
            task_id,
        )
        if found is None:
            return ELSEWHERE
        if not any(is_alive(*process) for process in found):
            return NO_PROCESS
        here, (pid, _, *where, _) = self._me.process, found[0]
        return f"pid {pid}" if where == [here.boot, here.namespace] else ELSEWHERE
