"""The table of owners: the processes that share a file, each in a slot of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents._store import rows
from ohm_subagents._store.owner import Process, wall_clock_ms
from ohm_subagents._store.schema import transaction

if TYPE_CHECKING:
    import sqlite3


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
