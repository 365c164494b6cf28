"""A damaged database: it is kept beside a new one, which has every task that can be read of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents._store.owners import is_alive
from ohm_subagents._store.place import damage_mark
from ohm_subagents._store.reader import survivors, tolerant
from ohm_subagents._store.schema import connect, transaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

_SIDES: Final = ("", "-wal", "-shm", "-journal")
_CHECKED: Final = 500
"""A file of so many pages is checked in half a millisecond, and so whenever it is opened."""
_OTHERS: Final = {
    "owners": ("id", "slot", "pid", "started", "boot", "namespace", "heartbeat_ms"),
    "gone": ("seq", "id", "why"),
    "facts": ("what", "value"),
}
_CHECKPOINT: Final = ("task_id", "backend", "format", "state", "checksum")
_CHECKPOINTS: Final = f"SELECT {', '.join(_CHECKPOINT)} FROM checkpoints WHERE task_id = ?"  # noqa: S608  names of ours


def is_sound(file: Path, connection: sqlite3.Connection) -> bool | None:
    """Whether the tables can be relied on; None if nobody has looked. Raises sqlite3.Error where nobody can look."""
    if damage_mark(file).exists():
        return False
    if connection.execute("PRAGMA page_count").fetchone()[0] > _CHECKED:
        return None
    return connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]


def is_in_use(connection: sqlite3.Connection, *, former: int | None) -> bool:
    """Whether a living process works with the tables; `former` is an owner that does so no more."""
    owners = connection.execute("SELECT id, pid, started, boot, namespace, heartbeat_ms FROM owners").fetchall()
    return any(is_alive(*process) for owner, *process in owners if owner != former)


def set_aside(file: Path, now_ms: int) -> Path:
    """Move the file out of the way; where it is then."""
    kept = file.with_name(f"{file.name}.corrupt-{now_ms}")
    for side in _SIDES:
        part = file.with_name(f"{file.name}{side}")
        if part.exists():
            part.replace(f"{kept}{side}")
    damage_mark(file).unlink(missing_ok=True)
    return kept


def copied(kept: Path, connection: sqlite3.Connection, *, fact: str) -> str:
    """Write what can be read of a damaged file into a new one, with `fact`; what the user is told of it."""
    told = f"Recovered corrupt task registry: {kept}"
    try:
        damaged = tolerant(connect(kept))
    except sqlite3.Error:
        return told
    with closing(damaged):
        try:
            with transaction(connection):
                saved, lost = _copied(damaged, connection, fact)
        except sqlite3.Error as error:  # all or nothing: what was saved is not
            return f"{told}. Kept no task, since the new registry could not be written: {error}."
    if not saved:
        return told
    left_out = sorted(lost - saved)
    names = f": {', '.join(map(repr, left_out))}" if left_out else ""
    return f"{told}. Kept {len(saved)} task(s). Left out {len(left_out)}{names}."


def _copied(damaged: sqlite3.Connection, connection: sqlite3.Connection, fact: str) -> tuple[set[str], set[str]]:
    """The ids of what was copied, and of everything that was there. Raises only where it cannot be written."""
    saved: set[str] = set()
    found = {str(each) for (each,) in _found(damaged, "SELECT id FROM tasks INDEXED BY sqlite_autoindex_tasks_1")}
    newest_owner = 0
    for row in survivors(damaged):
        found.add(str(row.id))
        if row.wrong is None and _insert(connection, "tasks", row.columns, row.values):
            saved.add(row.id)
            newest_owner = max(newest_owner, row.owner)
            for values in _found(damaged, _CHECKPOINTS, row.id):
                _insert(connection, "checkpoints", _CHECKPOINT, values)
    for name, columns in _OTHERS.items():
        for values in _found(damaged, f"SELECT {', '.join(columns)} FROM {name}"):  # noqa: S608  names of ours
            _insert(connection, name, columns, values)
    if saved:
        _insert(connection, "facts", ("what", "value"), (fact, ""))
        _go_on_behind(connection, newest_owner)
    return saved, found


def _found(connection: sqlite3.Connection, statement: str, *values: str) -> Iterator[tuple[Any, ...]]:
    with suppress(sqlite3.Error, UnicodeEncodeError):
        yield from connection.execute(statement, values)


def _insert(connection: sqlite3.Connection, table: str, columns: Sequence[str], values: Sequence[object]) -> bool:
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    with suppress(sqlite3.IntegrityError, sqlite3.InterfaceError, UnicodeEncodeError):
        found = connection.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", values)  # noqa: S608  names of ours
        return found.rowcount == 1
    return False


def _go_on_behind(connection: sqlite3.Connection, owner: int) -> None:
    """Let no new owner have the number of one whose tasks are here."""
    connection.execute("INSERT OR IGNORE INTO owners VALUES (?, 0, 0, '', '', '', 0)", (owner,))
    connection.execute("DELETE FROM owners WHERE id = ? AND pid = 0", (owner,))
