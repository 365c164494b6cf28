"""Damage of the file: told from the error of a statement, and where that says too little from the tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Final

from ohm_subagents.stores.sqlite.schema import UNREADABLE, VERSION, create, version

_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_OF_VERSION_1: Final = frozenset({"checkpoints", "counts", "facts", "gone", "owners", "tasks"})
_OF_VERSION_4: Final = frozenset({"checkpoints", "counts", "events", "meta", "owners", "tasks", "tombstones"})
_OF_VERSION_6: Final = _OF_VERSION_4 | {"outbox", "consumers", "acknowledged", "answers"}
_OF_VERSION: Final = dict.fromkeys(range(1, 4), _OF_VERSION_1) | {4: _OF_VERSION_4, 5: _OF_VERSION_4, 6: _OF_VERSION_6}


def is_damage(exc: Exception, connection: sqlite3.Connection) -> bool:
    """Return True if an error is about the content of the file, and not about the moment or the statement.

    SQLITE_ERROR is the code for a table that is gone as well as for a value that is no JSON: the tables are looked at.
    """
    code = _code(exc)
    if code == sqlite3.SQLITE_ERROR:
        return not _is_whole(connection)
    return isinstance(exc, UnicodeDecodeError) or code in _DAMAGE


def _is_whole(connection: sqlite3.Connection) -> bool:
    try:
        return _has_tables(connection) and connection.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
    except UNREADABLE as exc:
        return _code(exc) not in {*_DAMAGE, sqlite3.SQLITE_ERROR} and not isinstance(exc, UnicodeDecodeError)


def _has_tables(connection: sqlite3.Connection) -> bool:
    """Return True if the tables of the version are there, and of today's version their columns."""
    found = version(connection)
    if found != VERSION:
        names = _columns(connection).keys()
        return _OF_VERSION.get(found, frozenset()) <= names and "commands" not in names  # else the number is damaged
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        create(fresh)
        wanted = _columns(fresh)
    there = _columns(connection)
    return all(columns <= there.get(table, set()) for table, columns in wanted.items())


def _columns(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Return the names of the columns of each table."""
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(
        "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'"
    ):
        found.setdefault(table, set()).add(column)
    return found


def _code(exc: Exception) -> int:
    """Return the result code of SQLite without its extension, 0 for an error that has none."""
    code: int = getattr(exc, "sqlite_errorcode", 0)
    return code & 0xFF
