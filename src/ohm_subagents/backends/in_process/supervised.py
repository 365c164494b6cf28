"""Commands of subagents in this process, under the supervisor that command-line agents have."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

import anyio

from ohm_subagents.backends.in_process.tools.commands import Done
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.shell import MARKER, Launch, Supervisor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from ohm_subagents.backends.in_process.tools.commands import Order, Run
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.result import Result
    from ohm_subagents.shell import Child

_KEPT_BYTES = 64 * 1024  # of an output that was too long


@asynccontextmanager
async def supervised_commands(env: Mapping[str, str]) -> AsyncGenerator[Run]:
    """What runs commands, until the supervisor is left; `env` tells in which other runs we are."""
    outer = {MARKER: env[MARKER]} if MARKER in env else {}
    async with Supervisor.open() as supervisor:

        async def run(order: Order) -> Result[Done, OhmError]:
            command = tuple(order.command)
            launch = Launch(command=command, cwd=order.cwd, env={**outer, **order.env}, prompt=b"")
            started = await supervisor.start(launch)
            return started if isinstance(started, Err) else Ok(await _finished(started.ok_value, order))

        yield run


async def _finished(child: Child, order: Order) -> Done:
    output = bytearray()
    how: Literal["ended", "late", "flooding"] = "late"
    try:
        with anyio.move_on_after(order.timeout_s):
            async for chunk in child.chunks():
                output += chunk
                if len(output) > order.max_bytes:
                    how = "flooding"
                    del output[_KEPT_BYTES:]
                    break
            else:
                await child.gone()
                how = "ended"
    finally:
        child.stop()
        with anyio.CancelScope(shield=True):
            await child.gone()
    ended = await child.ended()
    return Done(code=ended.code, stdout=bytes(output), stderr=ended.stderr, how=how)
