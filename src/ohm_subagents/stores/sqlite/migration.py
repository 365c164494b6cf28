"""Brings a file of an earlier version up to date.

Version 6 had answers in place of commands, version 5 no outbox, version 4 no column `listed` either. Before, there was
a row of JSON for each task, and a folder of files beside the file.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.store import log_lines
from ohm_subagents.stores.sqlite import rows
from ohm_subagents.stores.sqlite.owners import is_in_use
from ohm_subagents.stores.sqlite.place import Asides, file_name
from ohm_subagents.stores.sqlite.reader import numbered, tolerant
from ohm_subagents.stores.sqlite.schema import (
    ANSWERS,
    COMMANDS,
    OUTBOX,
    VERSION,
    UnusableVersionError,
    create,
    transaction,
    version,
)
from ohm_subagents.stores.sqlite.stored import damaged
from ohm_subagents.stores.sqlite.writer import MAX_CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ohm_subagents.stores.sqlite.version_3 import Version3Row

WITH_A_LOG: Final = 4
"""The first version with a log for each task."""
_WITH_ANSWERS: Final = 6
"""The version with the table `answers`."""
_UPGRADES: Final = (
    (),
    ("ALTER TABLE tasks ADD COLUMN checksum INTEGER", "ALTER TABLE checkpoints ADD COLUMN checksum INTEGER"),
    ("ALTER TABLE tasks ADD COLUMN expired_ms INTEGER",),
)
_IS_WHOLE: Final = (
    "typeof(request) = 'text' AND typeof(given_by) = 'text' AND typeof(answer) = 'text' AND json_valid(answer)"
)
"""The condition of an answer that is as it was written."""
_SENT: Final = (
    "INSERT INTO commands (id, task, sender, command) SELECT request, seq, 0, json_object('version', 1, 'kind',"  # noqa: S608  our own text
    " 'execute_command', 'n', 0, 'command', json_object('op', 'answer', 'id', request, 'answer', json(answer),"
    " 'by', given_by)) FROM answers JOIN tasks ON tasks.id = substr(request, instr(substr(request, 5), '_') + 5)"
    f" WHERE {_IS_WHOLE}"
)
"""An answer to `req_<n>_<task>` as the command that it is now; one that is damaged is left out."""
_LATER: Final = (
    ("ALTER TABLE tasks ADD COLUMN listed TEXT",),
    (*OUTBOX, *ANSWERS),
    (*COMMANDS, _SENT, "DROP TABLE answers"),
)
"""Of each version from 4 on, the statements that make the next one of it."""
_TABLES: Final = ("checkpoints", "tasks", "owners", "gone", "facts", "counts")
_COLUMNS: Final = "seq, id, session_id, owner, status, ended_ms, record, large_outputs, checksum, expired_ms"
_STATE: Final = "SELECT state, checksum FROM {}checkpoints WHERE task_id = ?"


def migrate(connection: sqlite3.Connection, directory: Path) -> tuple[str, ...]:
    """Make the tables, or bring them up to date; return what the user should know. Raises sqlite3.Error.

    Raises `UnusableVersionError` for a file of a later version, and where a process of an earlier version is at work.
    `directory` holds what such a version kept beside the file.
    """
    if version(connection) == VERSION:
        return ()
    version_3_rows: list[Version3Row] = []
    messages: list[str] = []
    with transaction(connection):
        found = version(connection)  # another process may have been faster
        if found > VERSION:
            newer = f"it has version {found}, and this version of the library knows {VERSION}"
            raise UnusableVersionError(newer)
        if found and found < VERSION and is_in_use(connection):
            used = "a process with an earlier version of the library works with it; end that process first"
            raise UnusableVersionError(used)
        if not found:
            create(connection)
        elif WITH_A_LOG <= found < VERSION:
            messages = _bring_up_to_date(connection, found)
        elif found < WITH_A_LOG:
            version_3_rows = _set_version_3_aside(connection, found)
            messages = _copy_version_3(connection, version_3_rows, directory)
            for table in _TABLES:
                connection.execute(f"DROP TABLE version_3_{table}")
    if version_3_rows:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # what is removed now must be safe there
        for row in version_3_rows:
            _remove_files(directory, str(row.id))
        with suppress(OSError):
            directory.rmdir()
    return tuple(messages)


def _bring_up_to_date(connection: sqlite3.Connection, found: int) -> list[str]:
    damaged_answers = f"SELECT count(*) FROM answers WHERE NOT ({_IS_WHOLE})"  # noqa: S608  our own text
    (lost,) = connection.execute(damaged_answers).fetchone() if found == _WITH_ANSWERS else (0,)
    for statements in _LATER[found - WITH_A_LOG :]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    return [f"{lost} answer(s) to requests are damaged and left out: give them again."] if lost else []


def _set_version_3_aside(connection: sqlite3.Connection, found: int) -> list[Version3Row]:
    from ohm_subagents.stores.sqlite.version_3 import Version3Row  # noqa: PLC0415  few have such a file

    for statements in _UPGRADES[found:]:
        for statement in statements:
            connection.execute(statement)
    named = connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'index')").fetchall()
    for kind, name in named:
        if not name.startswith("sqlite_"):
            connection.execute(f"DROP {kind} {name}")
    for table in _TABLES:
        connection.execute(f"ALTER TABLE {table} RENAME TO version_3_{table}")
    create(connection)
    connection.execute("INSERT INTO owners SELECT * FROM version_3_owners")
    connection.execute("INSERT INTO tombstones SELECT * FROM version_3_gone")
    connection.execute("INSERT INTO meta SELECT * FROM version_3_facts")
    (numbers,) = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name LIKE '%owners'").fetchone()
    if numbers is not None:
        go_on_behind(connection, numbers)
    tolerant(connection)
    try:
        found_rows = connection.execute(f"SELECT {_COLUMNS} FROM version_3_tasks ORDER BY seq").fetchall()  # noqa: S608  names of ours
        state = _STATE.format("version_3_")
        return [
            Version3Row._make((*row, *(connection.execute(state, (row[1],)).fetchone() or (None, None))))
            for row in found_rows
        ]
    finally:
        connection.text_factory = str


def go_on_behind(connection: sqlite3.Connection, owner: int) -> None:
    """Let no new owner have the number of one whose tasks are here."""
    connection.execute("INSERT OR IGNORE INTO owners VALUES (?, 0, 0, '', '', '', 0)", (owner,))
    connection.execute("DELETE FROM owners WHERE id = ? AND pid = 0", (owner,))


def version_3_survivors(connection: sqlite3.Connection) -> Iterator[Version3Row]:
    """Yield every row that can be read of a damaged file of version 3."""
    from ohm_subagents.stores.sqlite.version_3 import Version3Row  # noqa: PLC0415  few have such a file

    for row in numbered(connection, f"SELECT {_COLUMNS} FROM tasks NOT INDEXED", "seq"):  # noqa: S608  names of ours
        try:
            state = connection.execute(_STATE.format(""), (row[1],)).fetchone()
        except (sqlite3.Error, UnicodeEncodeError):
            state = None
        yield Version3Row._make((*row, *(state or (None, None))))


def _copy_version_3(connection: sqlite3.Connection, found: Iterable[Version3Row], directory: Path) -> list[str]:
    messages: list[str] = []
    for row in found:
        match copy_version_3_row(connection, row, directory):
            case Ok():
                pass
            case Err(wrong):
                place = Asides(directory).put_columns(str(row.id), row._asdict())
                messages.append(damaged(str(row.id), wrong, place).message)
    return messages


def copy_version_3_row(connection: sqlite3.Connection, row: Version3Row, directory: Path) -> Result[None, str]:
    """Write a task of version 3 into tables of today, or say why it cannot be read."""
    from ohm_subagents.stores.sqlite.version_3 import version_3_task  # noqa: PLC0415  few have such a file

    match version_3_task(row, directory):
        case Err() as unreadable:
            return unreadable
        case Ok((task, events)):
            log = log_lines([*((one.at_ms, one.event) for one in events), task], lambda _: None)
            rows.insert(connection, task, row.owner, log)
            if task.activity.checkpoint is not None:
                rows.save_checkpoint(connection, task, max_chars=MAX_CHECKPOINT)
            if row.expired_ms is not None:
                connection.execute("UPDATE tasks SET expired_ms = ? WHERE id = ?", (row.expired_ms, row.id))
            return Ok(None)


def _remove_files(directory: Path, task_id: str) -> None:
    name = file_name(task_id)
    for file in (directory / f"{name}.jsonl", *directory.glob(f"{name}.*.txt")):
        with suppress(OSError):
            file.unlink()
