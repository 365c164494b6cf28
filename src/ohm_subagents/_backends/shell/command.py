"""Where a command is, or one sentence that says what was looked for, where, and how to install it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Mapping


def located(
    command: tuple[str, ...], env: Mapping[str, str], *, backend: str, install: str
) -> Result[tuple[str, ...], OhmError]:
    """The command with the path of its program: as it is when it names a path, else from the PATH of `env`."""
    program, *arguments = command
    path = env.get("PATH", "")
    found = shutil.which(program, path=path)
    if found is not None:
        return Ok((str(Path(found).absolute()), *arguments))
    where = f'as the file "{program}"' if "/" in program else f'on the PATH "{path}"'
    return Err(
        OhmError(
            code=ErrorCode.COMMAND_UNUSABLE,
            message=f'The command "{program}" of backend "{backend}" was looked for {where}, and is not there.',
            advice=f"Install it ({install}), or name another in subagents.backends.{backend}.command of ohm.json.",
        )
    )
