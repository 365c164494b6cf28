"""The way in for scripts without an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from anyio import NoEventLoopError
from anyio.lowlevel import current_token

from ohm_subagents._app.ohm import Ohm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ohm_subagents._app.assembly import ConfigSource
    from ohm_subagents.contract.envelope import Envelope
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.result import Result


def run_sync(
    profile: str,
    prompt: str,
    *,
    cwd: Path | str | None = None,
    config: ConfigSource = None,
    env: Mapping[str, str] | None = None,
    plugins: Iterable[object] = (),
    model: str | None = None,
    backend: str | None = None,
) -> Result[Envelope, OhmError]:
    """`Ohm.run` for scripts: opens an `Ohm`, runs one task, closes it. Not for use inside an event loop."""

    async def main() -> Result[Envelope, OhmError]:
        async with Ohm.open(cwd=cwd, config=config, env=env, plugins=plugins) as ohm:
            return await ohm.run(profile, prompt, model=model, backend=backend)

    try:
        current_token()
    except NoEventLoopError:
        return anyio.run(main)
    raise RuntimeError(
        "run_sync was called inside of an event loop; there: `async with Ohm.open() as ohm: await ohm.run(…)`."
    )
