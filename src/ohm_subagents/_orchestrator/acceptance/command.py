"""Run the command line of a check: supervised, bounded in time and output, and nothing of it is left."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import anyio

from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.shell.environment import child_environment
from ohm_subagents.shell.process import Launch

if TYPE_CHECKING:
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.sandbox.box import Box
    from ohm_subagents.shell.process import Child, Supervisor

MOST_BYTES: Final = 10 * 1024 * 1024
"""A command that writes more is stopped."""
_KEPT_BYTES: Final = 64 * 1024
_ONE_STREAM: Final = 'exec "$0" -c "$1" 2>&1'


class Ran(NamedTuple):
    """The end of a command: how it ended, its exit code if by itself, and the end of what it wrote."""

    how: Literal["ended", "late", "flooding"]
    code: int
    output: str


async def run_command(
    supervisor: Supervisor, line: str, request: RunRequest, seconds: float, box: Box | None
) -> Result[Ran, OhmError]:
    """Run a line by bash, or by sh where there is no bash, in the directory of a run and with what its children see.

    A sandbox holds it as it holds the commands of `bash`.
    """
    env = child_environment(request)
    shell = "bash" if shutil.which("bash", path=env.get("PATH")) else "sh"
    launch = Launch(command=("sh", "-c", _ONE_STREAM, shell, line), cwd=request.cwd, env=env, prompt=b"", box=box)
    started = await supervisor.start(launch)
    if isinstance(started, Err):
        return started
    child, output = started.ok_value, bytearray()
    how = await _drained(child, output, seconds)
    ended = await child.ended()
    code = 128 - ended.code if ended.code < 0 else ended.code  # as a shell reports the end by a signal
    return Ok(Ran(how, code, output.decode(errors="replace")))


async def _drained(child: Child, output: bytearray, seconds: float) -> Literal["ended", "late", "flooding"]:
    """Keep the end of what a command writes, and end it where it takes too long or writes too much."""
    written = 0
    try:
        with anyio.move_on_after(seconds):
            async for chunk in child.chunks():
                written += len(chunk)
                output += chunk
                if written > MOST_BYTES:
                    return "flooding"
                if len(output) > 2 * _KEPT_BYTES:
                    _cut(output)
            await child.gone()
            return "ended"
    finally:
        child.stop()
        with anyio.CancelScope(shield=True):
            await child.gone()
        if len(output) > _KEPT_BYTES:
            _cut(output)
    return "late"


def _cut(output: bytearray) -> None:
    """Leave the newest lines: half of one may be half of a secret."""
    del output[:-_KEPT_BYTES]
    del output[: output.find(b"\n") + 1]
