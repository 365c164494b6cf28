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
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager

    from ohm_subagents._plugins.stores import Store, StoreRequest


@hookimpl
def ohm_stores() -> Iterable[StoreSpec]:
    yield StoreSpec(id="memory", summary="Gone with the process.", open=open_memory)


@asynccontextmanager
async def open_store(
    chosen: str, specs: Mapping[str, StoreSpec], request: StoreRequest, *, origin: str
) -> AsyncGenerator[Store]:
    """Open the store of this id, which is flushed and closed at the end. `origin` is the place that names it.

    Where it cannot be used, tasks are kept in memory, and where no plugin offers it, none may start.
    """
    if chosen not in specs:
        yield MissingStore(unsupported(chosen, specs, origin), request)
        return
    async with AsyncExitStack() as stack:
        store: Store
        try:
            store = await stack.enter_async_context(opened(chosen, specs, request, origin=origin))
        except OSError as exc:
            message = f"Tasks are kept in memory only: {exc}."
            diagnostic = Diagnostic(subject="subagents.store", message=message)
            store = MemoryStore(request.clock, request.policy, diagnostics=(diagnostic,))
        yield store


class MissingStore(MemoryStore):
    """In place of a store that no plugin offers: a task must not be kept in another place than was asked for."""

    def __init__(self, error: OhmError, request: StoreRequest) -> None:
        message = f"No task may start: {error}"
        diagnostic = Diagnostic(subject="subagents.store", message=message, severity="error")
        super().__init__(request.clock, request.policy, diagnostics=(diagnostic,))
        self.error = error


def unsupported(chosen: str, specs: Mapping[str, StoreSpec], origin: str) -> OhmError:
    """Return the error for a store that no plugin offers."""
    from ohm_subagents._plugins.installation import install_hint  # noqa: PLC0415  only an error needs it

    offered = ", ".join(f"'{store_id}'" for store_id in sorted(specs))
    hint = install_hint(chosen) or did_you_mean(chosen, specs)
    return OhmError(
        code=ErrorCode.UNSUPPORTED_STORE,
        message=f"There is no store '{chosen}' ({origin}).",
        advice=f"{hint}Set subagents.store to one of {offered}.",
    )


def opened(
    chosen: str, specs: Mapping[str, StoreSpec], request: StoreRequest, *, origin: str
) -> AbstractAsyncContextManager[Store]:
    """Return the store of this id, to be entered; raises OSError where no plugin offers it."""
    if chosen not in specs:
        raise OSError(str(unsupported(chosen, specs, origin)).removesuffix("."))
    spec = specs[chosen]
    if (before := specs.get(spec.predecessor)) is None:
        return spec.open(request)
    everything = replace(request.policy, retention_ms=sys.maxsize, max_entries=sys.maxsize)
    policy = request.policy if request.is_reader else everything
    return spec.open(
        replace(request, predecessor=partial(before.open, replace(request, policy=policy, is_reader=True)))
    )
