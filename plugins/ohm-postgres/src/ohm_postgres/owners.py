"""The owners of tasks: each has a lease by the clock of the database, and on one machine a process to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ohm_subagents.store import Process

if TYPE_CHECKING:
    from psycopg import Connection

HEARTBEAT_S: Final = 5
LEASE: Final = "clock_timestamp() + interval '30 seconds'"
IS_LEASED: Final = (
    "(o.lease_until > clock_timestamp() OR (o.lease_until > clock_timestamp() - interval '1 day'"
    " AND pg_postmaster_start_time() > clock_timestamp() - interval '30 seconds'))"
)
"""The condition of an owner `o` that counts as alive. Nobody could renew a lease while the server was down."""
COLUMNS: Final = f"o.pid, o.started, o.boot, o.namespace, {IS_LEASED}"
"""The columns of an owner `o` that are read."""
SEQUENCES: Final = 1_000_000
"""A store may give so many ids before they could meet those of the next one."""
NOBODY: Final = 0
_FORGOTTEN: Final = "DELETE FROM ohm_owners WHERE lease_until < clock_timestamp() - interval '7 days'"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """This store among those that share the database. Its number is never given again, nor are its ids of tasks."""

    id: int
    first_sequence: int
    process: Process


def reader() -> Owner:
    """Return an owner that works on no task."""
    return Owner(id=NOBODY, first_sequence=1, process=Process.current())


def register(connection: Connection) -> Owner:
    """Add an owner."""
    here = Process.current()
    with connection.transaction():
        connection.execute(_FORGOTTEN)
        found: Any = connection.execute(
            f"INSERT INTO ohm_owners (pid, started, boot, namespace, batch, lease_until)"
            f" VALUES (%s, %s, %s, %s, 0, {LEASE}) RETURNING id, nextval('ohm_slots')",
            (here.pid, here.started, here.boot, here.namespace),
        ).fetchone()
    return Owner(id=found[0], first_sequence=found[1] * SEQUENCES + 1, process=here)


def renew(connection: Connection, owner: Owner, batch: int) -> None:
    """Renew the lease, and note the number of the batch that is written with it; also for one taken for dead."""
    here = owner.process
    connection.execute(
        f"INSERT INTO ohm_owners VALUES (%s, %s, %s, %s, %s, %s, {LEASE})"
        " ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, lease_until = excluded.lease_until",
        (owner.id, here.pid, here.started, here.boot, here.namespace, batch),
    )


def written_batch(connection: Connection, owner: Owner) -> int:
    """Return the number of the newest batch of the owner that was written, once none is being written."""
    found = connection.execute("SELECT batch FROM ohm_owners WHERE id = %s FOR UPDATE", (owner.id,)).fetchone()
    return 0 if found is None else int(found[0])


def leave(connection: Connection, owner: Owner) -> None:
    """Remove the owner: what it has left unsettled is a dead owner's from now on."""
    connection.execute("DELETE FROM ohm_owners WHERE id = %s", (owner.id,))
