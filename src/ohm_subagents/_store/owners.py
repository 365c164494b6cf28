"""The table of owners: the processes that share a file, each in a slot of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents._store import rows
from ohm_subagents._store.owner import Process, wall_clock_ms
from ohm_subagents._store.schema import transaction

if TYPE_CHECKING:
    import sqlite3

    from ohm_subagents._store.reader import Reader
    from ohm_subagents.contract.ids import TaskId


@dataclass(frozen=True, kw_only=True)
class Owner:
    """This store among those that share the file."""

    id: int
    slot: int
    process: Process


def is_alive(pid: int, started: str, boot: str, namespace: str, heartbeat_ms: int) -> bool:
    """Whether the process of a row still runs."""
    process = Process(pid=pid, started=started, boot=boot, namespace=namespace)
    return process.is_alive(heartbeat_ms=heartbeat_ms, now_ms=wall_clock_ms())


def registered(connection: sqlite3.Connection) -> Owner:
    """A new owner in a slot that no living one has; the dead ones are forgotten, and thereby known to be dead."""
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
        rows.beat(connection, owner.id, owner.slot, owner.process, wall_clock_ms())
    return owner


class Neighbours:
    """The other owners of the same tables, as far as they can be read."""

    def __init__(self, reader: Reader, me: Owner) -> None:
        self._reader = reader
        self._me = me

    def dead(self) -> list[int]:
        """Who left tasks that nobody works on."""
        owners = self._reader.found("SELECT DISTINCT owner FROM tasks WHERE ended_ms IS NULL") or ()
        return [owner for (owner,) in owners if owner != self._me.id and not self.is_alive(owner)]

    def is_alive(self, owner: int) -> bool:
        """Also where nobody can tell: a task is not taken from one who may be at work."""
        found = self._reader.found("SELECT pid, started, boot, namespace, heartbeat_ms FROM owners WHERE id = ?", owner)
        return found is None or any(is_alive(*process) for process in found)

    def work_on(self, task_id: TaskId) -> bool:
        """Whether one of them that lives does."""
        found = self._reader.found("SELECT owner FROM tasks WHERE id = ? AND ended_ms IS NULL", task_id)
        return any(owner != self._me.id and self.is_alive(owner) for (owner,) in found or ())

    def pid_of(self, task_id: TaskId) -> int | None:
        """The number of the process that works on it, where that number means something."""
        found = self._reader.found(
            "SELECT pid, boot, namespace FROM owners JOIN tasks ON tasks.owner = owners.id"
            " WHERE tasks.id = ? AND ended_ms IS NULL",
            task_id,
        )
        here = self._me.process
        return found[0][0] if found and found[0][1:] == (here.boot, here.namespace) else None
