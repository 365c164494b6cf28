"""Commands that only look: open an `Ohm`, say what is wrong with its configuration, look, close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._terminal.exits import BAD_USAGE, complain, report
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ohm_subagents import Ohm
    from ohm_subagents._config.load import LoadedConfig


async def inspect(look: Callable[[Ohm, LoadedConfig], int], *, cwd: Path, config: Path | None) -> int:
    """The exit code of `look`, or 2 when the configuration cannot be read."""
    from ohm_subagents import Ohm

    async with Ohm.open(cwd=cwd, config=config) as ohm:
        report(ohm.diagnostics)
        match ohm.inspect().loaded:
            case Err(error):
                complain(error)
                return BAD_USAGE
            case Ok(loaded):
                return look(ohm, loaded)
