"""The way in for scripts without an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import anyio
from anyio import NoEventLoopError
from anyio.lowlevel import current_token

from ohm_subagents._app.ohm import Ohm
from ohm_subagents._app.opening import OpenOptions
from ohm_subagents._app.options import RunOptions
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from ohm_subagents.contract.envelope import Envelope
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.result import Result


def run_sync(
    profile: str, prompt: str, *, model: str | None = None, backend: str | None = None, **options: Unpack[OpenOptions]
) -> Result[Envelope, OhmError]:
    """Open an `Ohm` with the options of `Ohm.open`, run one task in it, close it. Not for use inside an event loop.

    Raises TypeError for an unknown option.
    """
    for name in options.keys() - OpenOptions.__annotations__.keys():
        meant = did_you_mean(name, ("model", "backend", *OpenOptions.__annotations__))
        if name in RunOptions.__annotations__:
            meant = "Ohm.run has it: `with Ohm.sync() as ohm: ohm.run(…)`."
        unknown = f"run_sync() got an unexpected keyword argument '{name}'. {meant}".rstrip()
        raise TypeError(unknown)

    async def main() -> Result[Envelope, OhmError]:
        async with Ohm.open(**options) as ohm:
            return await ohm.run(profile, prompt, model=model, backend=backend)

    try:
        current_token()
    except NoEventLoopError:
        return anyio.run(main)
    raise RuntimeError(
        "run_sync was called inside of an event loop; there: `async with Ohm.open() as ohm: await ohm.run(…)`."
    )
