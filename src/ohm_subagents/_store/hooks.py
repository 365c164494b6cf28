"""The stores that are built in, offered like anybody's."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents._plugins.hookspecs import hookimpl
from ohm_subagents._plugins.stores import StoreSpec
from ohm_subagents._store.memory import open_memory

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents._plugins.stores import Store, StoreRequest


@asynccontextmanager
async def _open_sqlite(request: StoreRequest) -> AsyncGenerator[Store]:
    from ohm_subagents._store.sqlite.opening import open_sqlite  # noqa: PLC0415  only who keeps tasks needs it

    async with open_sqlite(request) as store:
        yield store


@asynccontextmanager
async def _open_snapshot(request: StoreRequest) -> AsyncGenerator[Store]:
    from ohm_subagents._store.snapshot.store import open_snapshot  # noqa: PLC0415  only who keeps tasks needs it

    async with open_snapshot(request) as store:
        yield store


@hookimpl
def ohm_stores() -> Iterable[StoreSpec]:
    yield StoreSpec(id="sqlite", summary="A database that processes share.", open=_open_sqlite)
    yield StoreSpec(id="snapshot", summary="The JSON file of one process.", open=_open_snapshot)
    yield StoreSpec(id="memory", summary="Gone with the process.", open=open_memory)
