"""The decision of whether a run is held: by its sandbox, and by what the machine can do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.sandbox.box import Box
from ohm_subagents.sandbox.machine import INSTALL, Machine, this_machine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.contract.sandbox import Sandbox

_ADVICE: Final = f"Run `ohm doctor` to see what is missing; bubblewrap comes with: {INSTALL}."
_OPENLY: Final = "It runs without a sandbox."


async def box_for(sandbox: Sandbox, cwd: Path, env: Mapping[str, str]) -> Result[Box | Diagnostic | None, OhmError]:
    """Return the box of a run; None if it asks for none, a diagnostic if it runs without, an error if it must not."""
    if sandbox.mode == "off":
        return Ok(None)
    machine = await to_thread.run_sync(this_machine, abandon_on_cancel=True)
    return decided(sandbox, cwd, env, machine)


def decided(
    sandbox: Sandbox, cwd: Path, env: Mapping[str, str], machine: Machine
) -> Result[Box | Diagnostic | None, OhmError]:
    """Return what `box_for` returns on a machine."""
    home, workspace = Path(env.get("HOME") or Path.home()), Path(os.path.realpath(cwd))
    if machine.mechanism is None:
        return unheld(sandbox, machine.lacks)
    if Path(os.path.realpath(home)).is_relative_to(workspace):
        home_in_it = f'The working directory "{cwd}" holds the home of the user, which a sandbox keeps private.'
        return unheld(sandbox, home_in_it, "Start it in a directory of the project.")
    return Ok(
        Box(
            mechanism=machine.mechanism,
            program=machine.bubblewrap,
            can_copy=machine.has_overlays,
            rules=sandbox.rules,
            workspace=cwd,
            home=home,
        )
    )


def unheld(sandbox: Sandbox, why: str, advice: str = _ADVICE) -> Result[Box | Diagnostic | None, OhmError]:
    """Return what becomes of a run that cannot be held."""
    match sandbox.mode:
        case "required":
            return Err(OhmError(code=ErrorCode.SANDBOX_UNAVAILABLE, message=why, advice=advice))
        case "preferred":
            return Ok(Diagnostic(subject="sandbox", message=f"{why} {_OPENLY}", advice=advice))
        case "off":
            return Ok(None)
