"""The store `postgres`: a PostgreSQL database that programs on several machines share. Loaded when it is opened."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents.store import StoreSpec, hookimpl

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents.store import Store, StoreRequest

__all__ = ["ohm_stores"]


@asynccontextmanager
async def _open(request: StoreRequest) -> AsyncGenerator[Store]:
    from ohm_postgres.opening import open_postgres  # noqa: PLC0415  loaded when it is opened

    async with open_postgres(request) as store:
        yield store


@hookimpl
def ohm_stores() -> Iterable[StoreSpec]:
    """Offer the store."""
    yield StoreSpec(id="postgres", summary="A database that machines share.", open=_open)
