"""ACP over standard input and output."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import anyio

from ohm_subagents.acp.greeting import first_answer
from ohm_subagents.commands import SUCCESS, standard_wire, until_signal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from ohm_subagents.commands import TooLong, Wire


async def serve_stdio(*, agent: str | None, server: str | None, config: Path | None) -> int:
    """Serve one client until it closes the stream or a signal comes; return the exit code.

    `agent` is the subagent that a session begins with, `config` an ohm.json in place of the user's and the project's,
    and `server` the typed one.
    """
    with standard_wire() as wire:
        ended = await until_signal(lambda: _served(wire, agent, server, config))
    return SUCCESS if ended is None else 128 + ended


async def _served(wire: Wire, profile: str | None, server: str | None, config: Path | None) -> None:
    async with aclosing(wire.lines()) as lines:
        first = await anext(lines, None)
        if first is None:
            return
        greeted = first_answer(first) if isinstance(first, bytes) else None
        if greeted is not None:
            await wire.write(greeted)
        from ohm_subagents.acp.agent import agent_of
        from ohm_subagents.acp.connection import serve
        from ohm_subagents.acp.ohms import OhmOfEachDirectory

        ohms = OhmOfEachDirectory(config=config, profile=profile, server=server)
        try:
            await serve(agent_of(ohms, profile), wire, lines if greeted else _with(first, lines))
        finally:
            with anyio.CancelScope(shield=True):
                await ohms.close()


async def _with(first: bytes | TooLong, lines: AsyncGenerator[bytes | TooLong]) -> AsyncGenerator[bytes | TooLong]:
    yield first
    async for line in lines:
        yield line
