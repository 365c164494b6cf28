"""The lifetime of an engine: what it owns is opened before it, and closed after it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents._app.background import background
from ohm_subagents._app.engine import Engine
from ohm_subagents._concurrency.leavable_group import GRACE_S, leavable_group
from ohm_subagents._plugins.backends.pool import BackendPool
from ohm_subagents._tools.live_ui import kept_current

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_subagents._app.assembly import Assembly
    from ohm_subagents._app.embedder import IdMakers
    from ohm_subagents._app.served.link import Link
    from ohm_subagents._plugins.stores import Store


@asynccontextmanager
async def working_engine(
    assembly: Assembly,
    *,
    store: Store | None,
    ids: IdMakers,
    suites: tuple[str, ...] | None,
    link: Link | None = None,
) -> AsyncGenerator[Engine]:
    """An engine; on leaving, what it runs is cancelled, and what does not end within five seconds is left to itself."""
    raised: Exception | None = None
    log = assembly.sources.logger

    def left() -> None:
        log.error("run.left", reason=f"it did not end within {GRACE_S:.0f} s of being cancelled")

    kept = assembly.open_store(assembly.sources.clock, store)
    async with (
        kept as registry,
        leavable_group(grace=lambda: pool.grace_s) as hosts,
        kept_current(assembly.sources.live_ui),
    ):
        pool = BackendPool(hosts, assembly.backends(), assembly.config.subagents.backends, log)
        async with pool, leavable_group(left) as runs, background(log) as of_suites:
            engine = Engine(
                assembly,
                group=runs,
                pool=pool,
                store=registry,
                ids=ids,
                suites=suites,
                background=of_suites,
                link=link,
            )
            if link is None:
                engine.received.begin(of_suites.spawn)
            engine.orphans.begin()
            try:
                if link is None:
                    await engine.take_up()
                yield engine
            except Exception as exc:  # noqa: BLE001  raised again below, out of the task groups that would wrap it
                raised = exc
            finally:
                engine.close("The Ohm that owned the task was closed.", is_store_ours=store is None)
                await of_suites.within(GRACE_S, engine.unmount)
                await of_suites.within(GRACE_S, engine.received.answered)
    if raised is not None:
        raise raised
