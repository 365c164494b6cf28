"""The store `sqlite`, the default: a file that several processes share. Its code is loaded when it is opened.

`store.SqliteStore` is the store, `opening.open_sqlite` opens the file however it was left, `writer.Writer` writes,
`reader.Reader` and `loader.Loader` read; `eviction.Eviction` removes tasks, `migration.migrate` brings a file of an
earlier version up to date, `damage.is_damage` tells a damaged one, `salvage.copy_survivors` saves what can be read of
it, `owners.Owner` is a process that shares the file.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents.store import StoreSpec, hookimpl

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents.store import Store, StoreRequest


@asynccontextmanager
async def _open(request: StoreRequest) -> AsyncGenerator[Store]:
    from ohm_subagents.stores.sqlite.opening import open_sqlite  # noqa: PLC0415  loaded when it is opened

    async with open_sqlite(request) as store:
        yield store


@hookimpl
def ohm_stores() -> Iterable[StoreSpec]:
    """Offer the store."""
    yield StoreSpec(id="sqlite", summary="A database that processes share.", open=_open, predecessor="snapshot")
