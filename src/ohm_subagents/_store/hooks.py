"""The stores that are built in, offered like anybody's; and how the one is opened that was chosen."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents._plugins.hooks.specs import hookimpl
from ohm_subagents._plugins.stores import StoreSpec
from ohm_subagents._store.memory import MemoryStore, open_memory
from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from ohm_subagents._plugins.stores import Store, StoreRequest
    from ohm_subagents.contract.diagnostics import Severity


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


@asynccontextmanager
async def open_store(chosen: str, specs: Mapping[str, StoreSpec], request: StoreRequest) -> AsyncGenerator[Store]:
    """Open the store of this id, which is flushed and closed at the end."""
    async with AsyncExitStack() as stack:
        store: Store
        try:
            store = await stack.enter_async_context(spec_of(chosen, specs).open(request))
        except OSError as exc:
            severity: Severity = "warning" if chosen in specs else "error"
            message = f"Tasks are kept in memory only: {exc}."
            diagnostic = Diagnostic(subject="subagents.store", message=message, severity=severity)
            store = MemoryStore(request.clock, request.policy, diagnostics=(diagnostic,))
        yield store


def spec_of(chosen: str, specs: Mapping[str, StoreSpec]) -> StoreSpec:
    """Return the store of this id; raises OSError where no plugin offers it."""
    if chosen not in specs:
        offered = ", ".join(f"'{store_id}'" for store_id in specs)
        unknown = f"there is no store '{chosen}'; set subagents.store to one of {offered}"
        raise OSError(unknown)
    return specs[chosen]
