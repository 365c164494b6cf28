"""One connection to the database, made anew once it was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg import Connection

VARIABLE: Final = "OHM_POSTGRES_URL"
LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError)
"""Errors about the connection or the moment, and not about what was said."""
_DEFAULTS: Final[dict[str, Any]] = {
    "application_name": "ohm-subagents",
    "connect_timeout": 5,
    "tcp_user_timeout": 10_000,
}
_SLASHES: Final = "//"
_EXAMPLE: Final = "postgresql://user@host/database"


class Address:
    """The address of the database. Its text never shows how to log in."""

    def __init__(self, url: str) -> None:
        if url.partition("@")[0].count("/") > len(_SLASHES) or url.count("@") > 1:
            wrong = f"{VARIABLE} has a '/' or '@' in its user or password; write them as %2F and %40"
            raise OSError(wrong)
        try:
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its text quotes what may be a password
            wrong = f"{VARIABLE} is no address of PostgreSQL; write it as {_EXAMPLE}"
            raise OSError(wrong) from None
        self._password = str(given.get("password") or "")
        self.options: Final[str] = make_conninfo("", **{**_DEFAULTS, **given})
        where = f"{given.get('host', 'localhost')}:{given.get('port', 5432)}"
        self._text = f"postgresql://{where}/{given.get('dbname', '')}"

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Address:
        """Return the address that the environment names; raises OSError, with the reason."""
        if not (url := env.get(VARIABLE, "").strip()):
            missing = f"{VARIABLE} is not set; set it to the address of a database, such as {_EXAMPLE}"
            raise OSError(missing)
        return cls(url)

    def __str__(self) -> str:
        return self._text

    def told(self, exc: Exception) -> str:
        """Return what went wrong, in a line without the password."""
        lines = (" ".join(line.split()).removeprefix("- ") for line in str(exc).splitlines())
        text = "; ".join(line for line in lines if line).replace(":; ", ": ") or type(exc).__name__
        return (text.replace(self._password, "***") if self._password else text).rstrip(".?")


class Link:
    """For one thread at a time. Transactions are begun where they are wanted, and nowhere else."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        """The connection; raises `psycopg.OperationalError` where there can be none."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.address.options, autocommit=True)
        return self._connection

    @property
    def is_open(self) -> bool:
        """True if there is a connection, or was until it was lost."""
        return self._connection is not None and not self._connection.closed

    def drop(self) -> None:
        """Let the next use connect anew."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
