"""Opens the store that the configuration names; the store `memory`, which needs no plugin."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._plugins.hooks.specs import hookimpl
from ohm_subagents._plugins.stores import StoreSpec
from ohm_subagents._store.memory import MemoryStore, open_memory
from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager

    from ohm_subagents._plugins.stores import Store, StoreRequest
    from ohm_subagents.contract.diagnostics import Severity


@hookimpl
def ohm_stores() -> Iterable[StoreSpec]:
    yield StoreSpec(id="memory", summary="Gone with the process.", open=open_memory)


@asynccontextmanager
async def open_store(chosen: str, specs: Mapping[str, StoreSpec], request: StoreRequest) -> AsyncGenerator[Store]:
    """Open the store of this id, which is flushed and closed at the end; one in memory where it cannot be used."""
    async with AsyncExitStack() as stack:
        store: Store
        try:
            store = await stack.enter_async_context(opened(chosen, specs, request))
        except OSError as exc:
            severity: Severity = "warning" if chosen in specs else "error"
            message = f"Tasks are kept in memory only: {exc}."
            diagnostic = Diagnostic(subject="subagents.store", message=message, severity=severity)
            store = MemoryStore(request.clock, request.policy, diagnostics=(diagnostic,))
        yield store


def opened(chosen: str, specs: Mapping[str, StoreSpec], request: StoreRequest) -> AbstractAsyncContextManager[Store]:
    """Return the store of this id, to be entered; raises OSError where no plugin offers it."""
    if chosen not in specs:
        offered = ", ".join(f"'{store_id}'" for store_id in specs)
        unknown = f"there is no store '{chosen}'; set subagents.store to one of {offered}"
        raise OSError(unknown)
    spec = specs[chosen]
    if (before := specs.get(spec.predecessor)) is None:
        return spec.open(request)
    everything = replace(request.policy, retention_ms=sys.maxsize, max_entries=sys.maxsize)
    policy = request.policy if request.is_reader else everything
    return spec.open(
        replace(request, predecessor=partial(before.open, replace(request, policy=policy, is_reader=True)))
    )
