"""The tables of the SQLite store, and how a connection is set up.

`events` and `checkpoints` hold the truth. `tasks` is an index of it, changed in the same transaction: who works on a
task, by what it is found, and what a list shows of it (`listed`, which a task of version 4 has not). `tombstones` say
why a task was removed, `owners` which processes work with the file. `outbox` has the tasks that settled, in that order,
`consumers` who is told of them and up to where they know it, and `acknowledged` what they know beyond that. `commands`
are what processes ask of those that run a task, with the replies.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

Sync = Literal["normal", "full"]

VERSION: Final = 7
OUTBOX: Final[tuple[str, ...]] = (
    """CREATE TABLE outbox (
        n INTEGER PRIMARY KEY AUTOINCREMENT,
        task INTEGER NOT NULL UNIQUE REFERENCES tasks (seq) ON DELETE CASCADE,
        call TEXT
    )""",
    """CREATE TABLE consumers (
        name TEXT PRIMARY KEY,
        session TEXT,
        calls TEXT,
        position INTEGER NOT NULL,
        missed INTEGER NOT NULL,
        came INTEGER NOT NULL
    )""",
    """CREATE TABLE acknowledged (
        consumer TEXT NOT NULL REFERENCES consumers (name) ON DELETE CASCADE,
        n INTEGER NOT NULL,
        PRIMARY KEY (consumer, n)
    ) WITHOUT ROWID""",
)
"""The tables of the outbox."""
ANSWERS: Final = (
    "CREATE TABLE answers (request TEXT PRIMARY KEY, answer TEXT NOT NULL, given_by TEXT NOT NULL) WITHOUT ROWID",
)
"""With them, what version 5 had not; version 7 has `COMMANDS` in their place."""
COMMANDS: Final = (
    """CREATE TABLE commands (
        n INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        task INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
        sender INTEGER NOT NULL,
        command TEXT NOT NULL,
        taken INTEGER,
        reply TEXT
    )""",
    "CREATE INDEX commands_by_task ON commands (task)",
)
"""The table of the control inbox."""
TABLES: Final[tuple[str, ...]] = (
    """CREATE TABLE tasks (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL,
        owner INTEGER NOT NULL,
        status TEXT NOT NULL,
        ended_ms INTEGER,
        profile TEXT NOT NULL,
        checksum INTEGER NOT NULL,
        expired_ms INTEGER,
        listed TEXT
    )""",
    "CREATE INDEX tasks_by_end ON tasks (ended_ms) WHERE ended_ms IS NOT NULL AND expired_ms IS NULL",
    "CREATE INDEX tasks_by_expiry ON tasks (expired_ms) WHERE expired_ms IS NOT NULL",
    "CREATE INDEX tasks_by_owner ON tasks (owner) WHERE ended_ms IS NULL",
    "CREATE INDEX tasks_by_session ON tasks (session_id)",
    """CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        task INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
        n INTEGER NOT NULL,
        lines BLOB NOT NULL,
        checksum INTEGER NOT NULL,
        UNIQUE (task, n)
    )""",
    """CREATE TABLE checkpoints (
        task INTEGER PRIMARY KEY REFERENCES tasks (seq) ON DELETE CASCADE,
        state TEXT NOT NULL,
        checksum INTEGER NOT NULL
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
    *OUTBOX,
    *COMMANDS,
    "CREATE TABLE tombstones (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, why TEXT NOT NULL)",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # Counting a table takes longer the more is in it; a trigger does not.
    "CREATE TABLE counts (what TEXT PRIMARY KEY, n INTEGER NOT NULL)",
    "INSERT INTO counts VALUES ('tasks', 0), ('tombstones', 0), ('expired', 0)",
    "CREATE TRIGGER task_in AFTER INSERT ON tasks BEGIN UPDATE counts SET n = n + 1 WHERE what = 'tasks'; END",
    "CREATE TRIGGER task_out AFTER DELETE ON tasks BEGIN UPDATE counts SET n = n - 1 WHERE what = 'tasks'; END",
    "CREATE TRIGGER tombstone_in AFTER INSERT ON tombstones"
    " BEGIN UPDATE counts SET n = n + 1 WHERE what = 'tombstones'; END",
    "CREATE TRIGGER tombstone_out AFTER DELETE ON tombstones"
    " BEGIN UPDATE counts SET n = n - 1 WHERE what = 'tombstones'; END",
    "CREATE TRIGGER task_expired AFTER UPDATE OF expired_ms ON tasks BEGIN UPDATE counts"
    " SET n = n + (new.expired_ms IS NOT NULL) - (old.expired_ms IS NOT NULL) WHERE what = 'expired'; END",
    "CREATE TRIGGER expired_in AFTER INSERT ON tasks WHEN new.expired_ms IS NOT NULL"
    " BEGIN UPDATE counts SET n = n + 1 WHERE what = 'expired'; END",
    "CREATE TRIGGER expired_out AFTER DELETE ON tasks WHEN old.expired_ms IS NOT NULL"
    " BEGIN UPDATE counts SET n = n - 1 WHERE what = 'expired'; END",
)
_TRIES: Final = 500
LOG_PAGES: Final = 4000
"""Pages of the log that is written ahead until they are copied into the file, which waits for the disk: 16 MB.

A reader looks up to 4,062 pages in one table. Whoever opens the file after a crash reads them, in 10 ms.
"""


UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)
"""Errors of a statement; the last where a damaged schema makes even the message of SQLite unreadable."""


class UnusableVersionError(Exception):
    """Another version of the library has made the file, and it cannot be used as it is now."""


def connect(file: Path) -> sqlite3.Connection:
    """Open a connection for one thread at a time, which begins no transaction of its own accord."""
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA busy_timeout = 5000")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA temp_store = MEMORY")  # else a copy of each page that a removal changes goes into a file
    return connection


def choose_journal(connection: sqlite3.Connection, *, sync: Sync, is_shared_by_network: bool) -> None:
    """Set how the file is written; on a network file system without shared memory."""
    mode = "delete" if is_shared_by_network else "wal"
    for left in range(_TRIES, -1, -1):  # SQLite waits for no other process here, whatever `busy_timeout` says
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != mode:
                connection.execute(f"PRAGMA journal_mode = {mode}")
            break
        except sqlite3.OperationalError:
            if not left:
                raise
            time.sleep(0.01)
    connection.execute(f"PRAGMA synchronous = {sync}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")


def create(connection: sqlite3.Connection) -> None:
    """Make the tables; the caller holds the transaction."""
    for statement in TABLES:
        connection.execute(" ".join(statement.split()))  # kept as written: all is lost with a page of it
    connection.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Do all or nothing. Take the write lock at once: a transaction that reads first would fail where it could wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def version(connection: sqlite3.Connection) -> int:
    """Return the version of the tables; 0 for a new file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
