"""Where a command is, or one sentence that says what was looked for, where, and how to install it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Mapping


_SHOWN: Final = 100
"""How much of a long PATH helps anybody, in characters."""


def located(
    command: tuple[str, ...], env: Mapping[str, str], *, backend: str, install: str
) -> Result[tuple[str, ...], OhmError]:
    """The command, with its program as an absolute path: a file, or found on the PATH of `env`.

    A relative path starts at this process's directory, never at the run's: a repository does not bring programs.
    """
    program, *arguments = command
    found = shutil.which(program, path=env.get("PATH", ""))
    if found is not None:
        return Ok((str(Path(found).absolute()), *arguments))
    path = env.get("PATH", "")
    shown = path if len(path) <= _SHOWN else f"{path[:_SHOWN]}…"
    where = "there is no such program" if "/" in program else f'it is not on the PATH, "{shown}"'
    return Err(
        OhmError(
            code=ErrorCode.COMMAND_UNUSABLE,
            message=f'The command "{program}" of backend "{backend}" cannot be started: {where}.',
            advice=f"Install it ({install}), or name another in {setting(backend)}.",
        )
    )


def setting(backend: str) -> str:
    """Where ohm.json names the command of a backend."""
    return f'subagents.backends."{backend}".command of ohm.json'
