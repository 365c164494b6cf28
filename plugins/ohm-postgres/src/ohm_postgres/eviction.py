"""Tasks past their time are hidden; tasks without room are removed, in the transaction that brings others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ohm_postgres import outbox_rows
from ohm_postgres.outbox_rows import AWAITED
from ohm_postgres.stored import from_text
from ohm_subagents.contract import TaskId
from ohm_subagents.store import HELD_TIMES, evicted_reason, expired_reason

if TYPE_CHECKING:
    from psycopg import Connection

    from ohm_subagents.store import RetentionPolicy

STEP: Final = 500
"""At most so many tasks are removed in one transaction."""


class Eviction:
    """Remove what a policy does not keep. The tasks that are shown are counted now and then, and guessed in between.

    In the thread of the writer. A reader removes nothing.
    """

    def __init__(self, policy: RetentionPolicy, *, is_reader: bool) -> None:
        self.policy = policy
        self.is_overdue = not is_reader
        """The database may hold more than the policy allows, or the guess may be wrong."""
        self._is_reader = is_reader
        self._shown = 0

    def after(self, connection: Connection, created: int, now_ms: int) -> list[TaskId]:
        """Make room once so many tasks have come in; return what was removed or hidden."""
        if self._is_reader:
            return []
        if self.is_overdue:
            return self._sweep(connection, now_ms)
        self._shown += created
        gone = self._evict(connection, min(self._shown - self.policy.max_entries, created), now_ms)
        self._shown -= len(gone)
        return gone

    def _sweep(self, connection: Connection, now_ms: int) -> list[TaskId]:
        """Hide what is past its time, and remove what is too much."""
        back = "UPDATE ohm_tasks SET expired_ms = NULL WHERE expired_ms > %s RETURNING id"
        shown_again = [task_id for (task_id,) in connection.execute(back, (now_ms,)).fetchall()]
        connection.execute("DELETE FROM ohm_tombstones WHERE id = ANY(%s)", (shown_again,))
        gone = self._expire(connection, now_ms)
        is_all = len(gone) < STEP
        self._shown = _count(connection, "WHERE expired_ms IS NULL")
        over = min(self._shown - self.policy.max_entries, STEP)
        evicted = self._evict(connection, over, now_ms)
        self._shown -= len(evicted)
        gone += evicted + self._remove_hidden(connection, now_ms)
        self.is_overdue = not (is_all and over < STEP)
        return gone

    def _expire(self, connection: Connection, now_ms: int) -> list[TaskId]:
        found = connection.execute(
            "UPDATE ohm_tasks SET expired_ms = %s WHERE seq IN (SELECT seq FROM ohm_tasks WHERE ended_ms <= %s"
            " AND expired_ms IS NULL ORDER BY ended_ms, seq LIMIT %s FOR UPDATE SKIP LOCKED)"
            " RETURNING ended_ms, seq, id",
            (now_ms, now_ms - self.policy.retention_ms, STEP),
        ).fetchall()
        past = [task_id for _, _, task_id in sorted(found)]
        self._bury(connection, [(task_id, expired_reason(self.policy)) for task_id in past])
        return [TaskId(from_text(task_id)) for task_id in past]

    def _evict(self, connection: Connection, over: int, now_ms: int) -> list[TaskId]:
        """Remove so many settled tasks, the first to end first; those for which a consumer waits are hidden."""
        if over <= 0:
            return []
        found: list[Any] = connection.execute(
            "SELECT seq, id, ended_ms FROM ohm_tasks WHERE ended_ms IS NOT NULL AND expired_ms IS NULL"
            " ORDER BY ended_ms, seq LIMIT %s FOR UPDATE SKIP LOCKED",
            (over,),
        ).fetchall()
        seqs = [seq for seq, *_ in found]
        self._bury(connection, [(task_id, self._why(now_ms - ended_ms)) for _, task_id, ended_ms in found])
        hide = f"UPDATE ohm_tasks t SET expired_ms = %s WHERE seq = ANY(%s) AND {AWAITED}"
        connection.execute(hide.encode(), (now_ms, seqs))
        connection.execute("DELETE FROM ohm_tasks WHERE seq = ANY(%s) AND expired_ms IS NULL", (seqs,))
        return [TaskId(from_text(task_id)) for _, task_id, _ in found]

    def _why(self, age_ms: int) -> str:
        return expired_reason(self.policy) if age_ms >= self.policy.retention_ms else evicted_reason(self.policy)

    def _remove_hidden(self, connection: Connection, now_ms: int) -> list[TaskId]:
        """Remove as much of what is hidden as there is no room for: nothing is removed because of what a clock says.

        What a consumer waits for has more room than the rest; beyond that the oldest goes, and it has missed one.
        """
        kept = max(1, self.policy.max_entries) * (1 + HELD_TIMES)
        found: list[tuple[str]] = []
        total = _count(connection, "")
        if (over := min(total - self.policy.max_entries, STEP)) > 0:
            oldest = (
                f"SELECT seq FROM ohm_tasks t WHERE expired_ms <= %s AND NOT {AWAITED}"
                " ORDER BY expired_ms, ended_ms, seq LIMIT %s FOR UPDATE SKIP LOCKED"
            )
            remove = f"DELETE FROM ohm_tasks WHERE seq IN ({oldest}) RETURNING id"
            found += connection.execute(remove.encode(), (now_ms, over)).fetchall()
        if (over := min(total - len(found) - kept, STEP)) > 0:
            oldest = "SELECT id, seq FROM ohm_tasks WHERE expired_ms <= %s ORDER BY expired_ms, ended_ms, seq LIMIT %s"
            for task_id, seq in connection.execute(oldest, (now_ms, over)).fetchall():
                outbox_rows.miss(connection, seq)
                connection.execute("DELETE FROM ohm_tasks WHERE seq = %s", (seq,))
                found.append((task_id,))
        return [TaskId(from_text(task_id)) for (task_id,) in found]

    def _bury(self, connection: Connection, gone: list[tuple[str, str]]) -> None:
        """Remember why tasks are gone; beyond `max_reasons` the oldest reason is forgotten."""
        if gone:
            connection.execute(
                "INSERT INTO ohm_tombstones (id, why) SELECT * FROM unnest(%s::text[], %s::text[])"
                " ON CONFLICT (id) DO UPDATE SET why = excluded.why",
                [[*each] for each in zip(*gone, strict=True)],
            )
        connection.execute(
            "DELETE FROM ohm_tombstones"
            " WHERE seq <= (SELECT seq FROM ohm_tombstones ORDER BY seq DESC OFFSET %s LIMIT 1)",
            (self.policy.max_reasons,),
        )


def _count(connection: Connection, where: str) -> int:
    found: Any = connection.execute(f"SELECT count(*) FROM ohm_tasks {where}".encode()).fetchone()
    return int(found[0])
