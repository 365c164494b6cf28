"""A damaged database: it is kept beside a new one, which has every task that can be read of it."""

from __future__ import annotations

import os.path
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.result import Ok
from ohm_subagents.stores.sqlite import outbox_rows, rows
from ohm_subagents.stores.sqlite.migration import WITH_A_LOG, copy_version_3_row, go_on_behind, version_3_survivors
from ohm_subagents.stores.sqlite.place import damage_mark
from ohm_subagents.stores.sqlite.reader import survivors, tolerant
from ohm_subagents.stores.sqlite.schema import UNREADABLE, connect, transaction, version
from ohm_subagents.stores.sqlite.stored import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from ohm_subagents.stores.sqlite.stored import StoredTask
    from ohm_subagents.stores.sqlite.version_3 import Version3Row

_SIDES: Final = ("", "-wal", "-shm", "-journal")
_CHECKED: Final = 500
"""A file of so many pages is checked in half a millisecond, and so whenever it is opened."""
_OTHERS: Final = (
    ("owners", "owners", ("id", "slot", "pid", "started", "boot", "namespace", "heartbeat_ms")),
    ("tombstones", "gone", ("seq", "id", "why")),
    ("meta", "facts", ("name", "value")),
    ("outbox", "outbox", ("n", "task", "call")),
    ("consumers", "consumers", ("name", "session", "calls", "position", "missed", "came")),
    ("acknowledged", "acknowledged", ("consumer", "n")),
)
"""A table, its name of version 3, and its columns."""


def is_sound(file: Path, connection: sqlite3.Connection) -> bool | None:
    """Return True if the tables can be relied on; None if that was not checked. Raises sqlite3.Error."""
    if os.path.exists(damage_mark(file)):
        return False
    if connection.execute("PRAGMA page_count").fetchone()[0] > _CHECKED:
        return None
    return connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]


def set_aside(file: Path, now_ms: int) -> Path:
    """Move the file out of the way; return where it is then."""
    kept = file.with_name(f"{file.name}.corrupt-{now_ms}")
    for side in _SIDES:
        part = file.with_name(f"{file.name}{side}")
        if os.path.exists(part):
            part.replace(f"{kept}{side}")
    damage_mark(file).unlink(missing_ok=True)
    return kept


def copy_survivors(kept: Path, connection: sqlite3.Connection, *, folder: Path, mark: str) -> str:
    """Write what can be read of a damaged file into a new one, with `mark`; return a sentence for the user."""
    found = f"Recovered corrupt task registry: {kept}"
    try:
        damaged = tolerant(connect(kept))
    except UNREADABLE:
        return found
    with closing(damaged):
        try:
            with transaction(connection):
                saved, lost = _copy_all(damaged, connection, folder, mark)
        except sqlite3.Error as error:  # all or nothing: what was saved is not
            return f"{found}. Kept no task, since the new registry could not be written: {error}."
    if not saved:
        return found
    left_out = sorted(lost - saved)
    names = f": {', '.join(map(repr, left_out))}" if left_out else ""
    return f"{found}. Kept {len(saved)} task(s). Left out {len(left_out)}{names}."


def _copy_all(
    damaged: sqlite3.Connection, connection: sqlite3.Connection, folder: Path, mark: str
) -> tuple[set[str], set[str]]:
    """Return the ids of what was copied, and of everything that was there. Raises only where it cannot be written."""
    saved: set[str] = set()
    found = {str(each) for (each,) in _found(damaged, "SELECT id FROM tasks INDEXED BY sqlite_autoindex_tasks_1")}
    newest_owner = 0
    is_version_3 = _is_version_3(damaged)
    for row, is_saved in (
        _copy_version_3(damaged, connection, folder) if is_version_3 else _copy_tasks(damaged, connection)
    ):
        found.add(str(row.id))
        if is_saved:
            saved.add(row.id)
            newest_owner = max(newest_owner, row.owner)
    for name, in_version_3, columns in _OTHERS:
        for values in _found(damaged, f"SELECT * FROM {in_version_3 if is_version_3 else name}"):  # noqa: S608  names of ours
            _insert(connection, name, columns, values)
    outbox_rows.mend(connection)
    if saved:
        rows.mark(connection, mark)
        go_on_behind(connection, newest_owner)
    return saved, found


def _is_version_3(connection: sqlite3.Connection) -> bool:
    """Return True for version 3, or an earlier one."""
    try:
        return 0 < version(connection) < WITH_A_LOG
    except UNREADABLE:
        return False


def _copy_version_3(
    damaged: sqlite3.Connection, connection: sqlite3.Connection, folder: Path
) -> Iterator[tuple[Version3Row, bool]]:
    return ((row, isinstance(copy_version_3_row(connection, row, folder), Ok)) for row in version_3_survivors(damaged))


def _copy_tasks(damaged: sqlite3.Connection, connection: sqlite3.Connection) -> Iterator[tuple[Row, bool]]:
    return ((stored.row, _copy_task(stored, connection)) for stored in survivors(damaged))


def _copy_task(stored: StoredTask, connection: sqlite3.Connection) -> bool:
    folded = stored.task()
    if stored.wrong is not None or not isinstance(folded, Ok):
        return False
    if stored.row.ended_ms is not None and not folded.ok_value.is_terminal:  # its end is missing
        return False
    if not _insert(connection, "tasks", Row._fields, stored.row):
        return False
    for chunk in stored.chunks:
        _insert(connection, "events", ("task", "n", "lines", "checksum"), (stored.row.seq, *chunk))
    if stored.checkpoint is not None:
        state = (stored.row.seq, stored.state, stored.state_checksum)
        _insert(connection, "checkpoints", ("task", "state", "checksum"), state)
    return True


def _found(connection: sqlite3.Connection, statement: str) -> Iterator[tuple[Any, ...]]:
    with suppress(sqlite3.Error, UnicodeError):
        yield from connection.execute(statement)


def _insert(connection: sqlite3.Connection, table: str, columns: Sequence[str], values: Sequence[object]) -> bool:
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    with suppress(sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError, UnicodeEncodeError):
        found = connection.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", values)  # noqa: S608  names of ours
        return found.rowcount == 1
    return False
