"""Opens the store: connects, brings the tables up to date, and registers who works here."""

from __future__ import annotations

from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Final

import anyio
import psycopg
from anyio import to_thread

from ohm_postgres import owners
from ohm_postgres.link import Address, Link
from ohm_postgres.schema import migrate, version
from ohm_postgres.store import PostgresStore
from ohm_subagents.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_subagents.store import Store, StoreRequest


RETRY_S: Final = 0.5
PATIENCE_S: Final = 3.0
"""Seconds for which a server that cannot be reached is asked again at the beginning."""
_STARTING: Final = ("starting up", "shutting down", "accepting connections", "too many clients", "connection slots")


class UnreachableError(OSError):
    """The server cannot be reached now, and may be soon."""


@asynccontextmanager
async def open_postgres(request: StoreRequest) -> AsyncGenerator[Store]:
    """Open the store, and flush and close it at the end. Raises OSError, with the reason, where there can be none.

    A server that is not there is asked again for `PATIENCE_S`: it may be starting.
    """
    store = await _reached(request)
    if store is None:
        yield MemoryStore(request.clock, request.policy, place=str(Address.of(request.env)))
        return
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.flush()
            await to_thread.run_sync(store.close)


async def _reached(request: StoreRequest) -> PostgresStore | None:
    begun = anyio.current_time()
    first: UnreachableError | None = None
    for attempt in count(1):
        try:
            store = await to_thread.run_sync(opened, request)
        except UnreachableError as why:
            first = first or why
            if (passed := anyio.current_time() - begun) + RETRY_S > PATIENCE_S:
                vain = f"{why} ({attempt} attempts in {passed:.0f} s)"
                raise OSError(vain) from None
            await anyio.sleep(RETRY_S)
        else:
            if store is not None and first is not None:
                store.note(f"It took {attempt} attempts to reach the database: {first}.")
            return store
    raise AssertionError


def opened(request: StoreRequest) -> PostgresStore | None:
    """Return the store; None for a reader where there are no tables yet. Raises OSError, `UnreachableError` in time."""
    address = Address.of(request.env)
    reading, writing = Link(address), Link(address)
    try:
        if request.is_reader and version(writing.connection) == 0:
            writing.drop()
            return None
        migrate(writing.connection)
        owner = owners.reader() if request.is_reader else owners.register(writing.connection)
        store = PostgresStore(request, owner, reading=reading, writing=writing)
        store.begin()
    except (OSError, psycopg.Error) as exc:
        writing.drop()
        reading.drop()
        unusable = f"the registry of tasks in '{address}' cannot be used, {address.told(exc)}"
        raise (UnreachableError if _may_be_starting(exc) else OSError)(unusable) from None
    return store


def _may_be_starting(exc: Exception) -> bool:
    """Return True for an error of the connection that is no answer of the server, or its answer that it starts."""
    text = str(exc)
    return isinstance(exc, psycopg.OperationalError) and (
        "FATAL" not in text or any(word in text for word in _STARTING)
    )
