"""The store `snapshot`: the documented JSON file, which one process uses at a time. Its code is loaded when needed."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents.store import MemoryStore, StoreSpec, hookimpl
from ohm_subagents.stores.snapshot.text import FILE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents.store import Store, StoreRequest


@asynccontextmanager
async def _open(request: StoreRequest) -> AsyncGenerator[Store]:
    if request.is_reader and not _is_there(request):
        yield MemoryStore(request.clock, request.policy, place=str(request.directory / FILE))
        return
    from ohm_subagents.stores.snapshot.store import open_snapshot  # noqa: PLC0415  loaded when there is something to do

    async with open_snapshot(request) as store:
        yield store


def _is_there(request: StoreRequest) -> bool:
    return os.path.exists(request.directory / FILE)


@hookimpl
def ohm_stores() -> Iterable[StoreSpec]:
    """Offer the store."""
    yield StoreSpec(id="snapshot", summary="The JSON file of one process.", open=_open)
