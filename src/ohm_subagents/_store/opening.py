"""Opens the store that was chosen; where there can be none, one in memory that says why."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents._store.memory import MemoryStore
from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from ohm_subagents._plugins.stores import Store, StoreRequest, StoreSpec
    from ohm_subagents.contract.diagnostics import Severity


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
            told = Diagnostic(subject="subagents.store", message=message, severity=severity)
            store = MemoryStore(request.clock, request.policy, diagnostics=(told,))
        yield store


def spec_of(chosen: str, specs: Mapping[str, StoreSpec]) -> StoreSpec:
    """Return the store of this id; raises OSError where no plugin offers it."""
    if chosen not in specs:
        offered = ", ".join(f"'{store_id}'" for store_id in specs)
        unknown = f"there is no store '{chosen}'; set subagents.store to one of {offered}"
        raise OSError(unknown)
    return specs[chosen]
