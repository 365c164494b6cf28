"""The tables of the SQLite store, and how a connection is set up."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

Sync = Literal["normal", "full"]

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE tasks (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            session_id TEXT NOT NULL,
            owner INTEGER NOT NULL,
            status TEXT NOT NULL,
            updated_ms INTEGER NOT NULL,
            ended_ms INTEGER,
            format INTEGER NOT NULL,
            record BLOB NOT NULL,
            large_outputs TEXT NOT NULL
        )""",
        "CREATE INDEX tasks_by_end ON tasks (ended_ms) WHERE ended_ms IS NOT NULL",
        "CREATE INDEX tasks_by_owner ON tasks (owner) WHERE ended_ms IS NULL",
        "CREATE INDEX tasks_by_session ON tasks (session_id)",
        """CREATE TABLE checkpoints (
            task_id TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
            backend TEXT NOT NULL,
            format INTEGER NOT NULL,
            state TEXT NOT NULL
        )""",
        """CREATE TABLE owners (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            slot INTEGER NOT NULL,
            pid INTEGER NOT NULL,
            started TEXT NOT NULL,
            boot TEXT NOT NULL,
            namespace TEXT NOT NULL,
            heartbeat_ms INTEGER NOT NULL
        )""",
        "CREATE TABLE gone (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, why TEXT NOT NULL)",
        # Counting a table takes longer the more is in it; a trigger does not.
        "CREATE TABLE counts (what TEXT PRIMARY KEY, n INTEGER NOT NULL)",
        "INSERT INTO counts VALUES ('tasks', 0), ('gone', 0)",
        "CREATE TRIGGER task_in AFTER INSERT ON tasks BEGIN UPDATE counts SET n = n + 1 WHERE what = 'tasks'; END",
        "CREATE TRIGGER task_out AFTER DELETE ON tasks BEGIN UPDATE counts SET n = n - 1 WHERE what = 'tasks'; END",
        "CREATE TRIGGER gone_in AFTER INSERT ON gone BEGIN UPDATE counts SET n = n + 1 WHERE what = 'gone'; END",
        "CREATE TRIGGER gone_out AFTER DELETE ON gone BEGIN UPDATE counts SET n = n - 1 WHERE what = 'gone'; END",
        "CREATE TABLE facts (what TEXT PRIMARY KEY, value TEXT NOT NULL)",
    ),
    (
        "ALTER TABLE tasks ADD COLUMN checksum INTEGER",
        "ALTER TABLE checkpoints ADD COLUMN checksum INTEGER",
    ),
    (
        # When it was found to be past its time: it is nobody's any more, unless the clock goes back before then.
        "ALTER TABLE tasks ADD COLUMN expired_ms INTEGER",
        "DROP INDEX tasks_by_end",
        "CREATE INDEX tasks_by_end ON tasks (ended_ms) WHERE ended_ms IS NOT NULL AND expired_ms IS NULL",
        "CREATE INDEX tasks_by_expiry ON tasks (expired_ms) WHERE expired_ms IS NOT NULL",
        "INSERT INTO counts VALUES ('expired', 0)",
        "CREATE TRIGGER task_expired AFTER UPDATE OF expired_ms ON tasks BEGIN UPDATE counts"
        " SET n = n + (new.expired_ms IS NOT NULL) - (old.expired_ms IS NOT NULL) WHERE what = 'expired'; END",
        "CREATE TRIGGER expired_out AFTER DELETE ON tasks WHEN old.expired_ms IS NOT NULL"
        " BEGIN UPDATE counts SET n = n - 1 WHERE what = 'expired'; END",
    ),
)
VERSION: Final = len(MIGRATIONS)
_TRIES: Final = 500


_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
"""Of the last there is no other cause: the statements are ours, and so are the tables that they name."""


class NewerSchemaError(Exception):
    """A later version of the library has changed the file."""


def is_damage(exc: Exception) -> bool:
    """Whether it is about what the file holds, and not about the moment."""
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def connect(file: Path) -> sqlite3.Connection:
    """A connection for one thread at a time, without transactions of its own accord."""
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA busy_timeout = 5000")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def prepare(connection: sqlite3.Connection, *, sync: Sync, is_shared_by_network: bool) -> None:
    """Choose how it writes, and bring the tables up to date."""
    _choose_journal(connection, "delete" if is_shared_by_network else "wal")
    connection.execute(f"PRAGMA synchronous = {sync}")
    if _version(connection) != VERSION:
        with transaction(connection):  # another process may be at it
            _migrate(connection, _version(connection))


def _migrate(connection: sqlite3.Connection, found: int) -> None:
    if found > VERSION:
        newer = f"it has version {found}, and this version of the library knows {VERSION}"
        raise NewerSchemaError(newer)
    for migration in MIGRATIONS[found:]:
        for statement in migration:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All or nothing. One that reads before it writes must say so at once, or it fails where it could wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _choose_journal(connection: sqlite3.Connection, mode: str) -> None:
    """SQLite does not wait for other processes while it changes the mode, whatever `busy_timeout` says."""
    for left in range(_TRIES, -1, -1):
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != mode:
                connection.execute(f"PRAGMA journal_mode = {mode}")
        except sqlite3.OperationalError:
            if not left:
                raise
            time.sleep(0.01)
        else:
            return


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
