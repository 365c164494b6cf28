"""The place of a command, or one sentence that says what was looked for, where, and how to install it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Mapping


def locate_command(
    command: tuple[str, ...], env: Mapping[str, str], *, backend: str, install: str
) -> Result[tuple[str, ...], OhmError]:
    """Return the command, with its program as an absolute path: a file, or found on the PATH of `env`.

    A relative path starts at this process's directory, never at the run's: a repository does not bring programs.
    """
    program, *arguments = command
    found = shutil.which(program, path=env.get("PATH", ""))
    if found is not None:
        return Ok((str(Path(found).absolute()), *arguments))
    return Err(
        OhmError(
            code=ErrorCode.COMMAND_UNUSABLE,
            message=f'The command "{program}" of backend "{backend}" cannot be started: {_why(program, env)}.',
            advice=f"Install it ({install}), or name another in {command_setting(backend)}.",
        )
    )


def _why(program: str, env: Mapping[str, str]) -> str:
    if "/" in program:
        return "it is not executable" if os.path.isfile(program) else "there is no such program"
    folders = [folder for folder in env.get("PATH", "").split(os.pathsep) if folder]
    directories = "directory" if len(folders) == 1 else "directories"
    unusable = next((file for folder in folders if os.path.isfile(file := Path(folder, program))), None)
    if unusable is not None:
        return f"{unusable} is not executable"
    return f"it is in none of the {len(folders)} {directories} of the PATH"


def command_setting(backend: str) -> str:
    """Return the key of ohm.json that names the command of a backend."""
    return f'subagents.backends."{backend}".command of ohm.json'
