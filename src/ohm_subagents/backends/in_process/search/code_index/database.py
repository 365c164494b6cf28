"""The SQLite file of an index: its tables, what is wrong when it cannot be used, and what is done about it."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from ohm_subagents.backends.in_process.search.code_index.words import TOKENIZER

FORMAT: Final = 2  # of the tables and of what is written to them: count up when units or words are found otherwise
FIELDS: Final = ("name", "docstring", "place", "body")
_TABLES: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    is_read INTEGER NOT NULL,
    texts BLOB NOT NULL  -- what `words` has of its units: needed to take it out again
);
CREATE TABLE units (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    summary TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    {", ".join(f"{field}_words INTEGER NOT NULL" for field in FIELDS)}
);
CREATE INDEX units_by_file ON units (file);
CREATE VIRTUAL TABLE words USING fts5 ({", ".join(FIELDS)}, content='', tokenize='{TOKENIZER}');
PRAGMA user_version = {FORMAT};
COMMIT;
"""
_OF_THE_MOMENT: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT})
_OF_THE_PLACE: Final = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether the file is no index, or broken; anything else is about the place or the moment."""
    code: object = getattr(error, "sqlite_errorcode", None)
    return not isinstance(code, int) or (code & 0xFF) not in _OF_THE_MOMENT | _OF_THE_PLACE


@contextmanager
def opened(file: Path) -> Generator[sqlite3.Connection]:
    """A connection to a file that is there; an empty one gets its tables. Without transactions of its own accord.

    The journal is no write-ahead log: so an index is a single file, and works on any file system.
    """
    uri = f"{file.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)) as connection:
        if _version(connection) == 0:
            try:
                connection.executescript(_TABLES)
            except sqlite3.OperationalError:  # another process was first
                connection.rollback()
                if _version(connection) == 0:
                    raise
        if _version(connection) != FORMAT:
            other = "it has the tables of another version"
            raise sqlite3.DatabaseError(other)
        yield connection


@contextmanager
def in_memory() -> Generator[sqlite3.Connection]:
    """A connection to an index of its own that never touches a disk."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.executescript(_TABLES)
        yield connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
