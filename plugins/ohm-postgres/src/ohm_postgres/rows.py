"""Changes of tasks: a statement for all tasks at a time. The caller holds the transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_postgres.control_rows import ControlChange
from ohm_postgres.outbox_rows import OutboxChange
from ohm_postgres.stored import index_columns, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from psycopg import Connection

    from ohm_subagents.contract import TaskId
    from ohm_subagents.store import Task

_COLUMNS: Final = "id, session_id, owner, status, ended_ms, profile, call, parent, listed"
_ARRAYS: Final = (
    "%s::text[], %s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[]"
)
_INSERT: Final = (
    f"INSERT INTO ohm_tasks ({_COLUMNS}) SELECT * FROM unnest({_ARRAYS}) ON CONFLICT (id) DO NOTHING RETURNING id, seq"
)
_MINE: Final = (
    "SELECT id, seq FROM ohm_tasks WHERE id = ANY(%s) AND owner = %s AND ended_ms IS NULL ORDER BY seq FOR UPDATE"
)
_SETTLED: Final = "SELECT id, seq FROM ohm_tasks WHERE id = ANY(%s) AND ended_ms IS NOT NULL ORDER BY seq FOR UPDATE"
_UPDATE: Final = (
    "UPDATE ohm_tasks t SET status = u.status, ended_ms = u.ended_ms, listed = u.listed"
    " FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::text[]) AS u (seq, status, ended_ms, listed)"
    " WHERE t.seq = u.seq"
)
_TAKE: Final = (
    "UPDATE ohm_tasks SET owner = %s, status = %s, ended_ms = %s, listed = %s"
    " WHERE id = %s AND owner = %s AND ended_ms IS NULL RETURNING seq"
)


Change = OutboxChange | ControlChange
"""A change besides tasks."""


def insert(connection: Connection, tasks: Iterable[Task], owner: int) -> dict[str, int]:
    """Add tasks; return the numbers of those that were added. One that is settled makes room for one of its id."""
    left = {to_text(task.id): task for task in tasks}
    numbers: dict[str, int] = {}
    for is_last in (False, True):
        if not left:
            break
        columns = [*zip(*(index_columns(task, owner) for task in left.values()), strict=True)]
        for task_id, seq in connection.execute(_INSERT, [[*each] for each in columns]).fetchall():
            numbers[left.pop(task_id).id] = seq
        if left and not is_last:
            gone = "DELETE FROM ohm_tasks WHERE id = ANY(%s) AND ended_ms IS NOT NULL"
            connection.execute(gone, ([*left],))
    return numbers


def mine(connection: Connection, task_ids: Iterable[TaskId], owner: int) -> dict[str, int]:
    """Return the numbers of the tasks on which the owner still works, and keep everybody else from taking them."""
    names = {to_text(task_id): task_id for task_id in task_ids}
    if not names:
        return {}
    return {names[name]: seq for name, seq in connection.execute(_MINE, ([*names], owner)).fetchall()}


def settled(connection: Connection, task_ids: Iterable[TaskId]) -> dict[str, int]:
    """Return the numbers of the tasks that have settled, to which anybody may add what comes after their end."""
    names = {to_text(task_id): task_id for task_id in task_ids}
    if not names:
        return {}
    return {names[name]: seq for name, seq in connection.execute(_SETTLED, ([*names],)).fetchall()}


def take(connection: Connection, task: Task, owner: int, former: int) -> int | None:
    """Take over a task of a dead owner; return its number, or None if it is not that owner's any more."""
    columns = index_columns(task, owner)
    values = (owner, task.status, task.ended_ms, columns[-1], columns[0], former)
    found = connection.execute(_TAKE, values).fetchone()
    return None if found is None else int(found[0])


def append(connection: Connection, logs: Mapping[int, bytes]) -> None:
    """Add lines to logs of tasks, by their numbers."""
    written = {seq: lines for seq, lines in logs.items() if lines}
    if written:
        add = "INSERT INTO ohm_events (task, lines) SELECT * FROM unnest(%s::bigint[], %s::bytea[])"
        connection.execute(add, ([*written], [*written.values()]))


def update(connection: Connection, moved: Mapping[int, Task]) -> None:
    """Bring the index up to date."""
    if moved:
        columns = [(seq, task.status, task.ended_ms, index_columns(task, 0)[-1]) for seq, task in moved.items()]
        connection.execute(_UPDATE, [[*each] for each in zip(*columns, strict=True)])


def save_checkpoints(connection: Connection, states: Mapping[int, str | None]) -> None:
    """Keep the newest conversation states; None where there is none any more."""
    kept = {seq: state.encode(errors="replace") for seq, state in states.items() if state is not None}
    if gone := [seq for seq in states if seq not in kept]:
        connection.execute("DELETE FROM ohm_checkpoints WHERE task = ANY(%s)", (gone,))
    if kept:
        connection.execute(
            "INSERT INTO ohm_checkpoints SELECT * FROM unnest(%s::bigint[], %s::bytea[])"
            " ON CONFLICT (task) DO UPDATE SET state = excluded.state",
            ([*kept], [*kept.values()]),
        )
