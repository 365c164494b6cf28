"""The commands of `bash`: a workspace that has them run by a supervisor, which leaves nothing of them behind."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Literal

import anyio
from pydantic_ai.workspaces import (
    CommandResult,
    LocalWorkspaceBackend,
    WorkspaceCommand,
    WorkspaceError,
    WorkspaceOutputLimitError,
    WorkspaceTimeoutError,
)

from ohm_subagents.plugin import Err
from ohm_subagents.shell import MARKER, Launch, Supervisor, trace_environment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from ohm_subagents.sandbox import Box
    from ohm_subagents.shell import Child

_MAX_OUTPUT_BYTES: Final = 10 * 1024 * 1024
_KEPT_BYTES: Final = 64 * 1024  # of an output that was too long


class Commands:
    """Runs commands until nothing of them is left, daemons included, however their callers end.

    `env` is that of this program: what marks the runs in which it is itself, and its trace, are passed on.
    """

    def __init__(self, supervisor: Supervisor, env: Mapping[str, str], box: Box | None = None) -> None:
        self._supervisor = supervisor
        self._env = env
        self._box = box

    def within(self, box: Box | None) -> Commands:
        """Return the same for commands that are held by this sandbox."""
        return Commands(self._supervisor, self._env, box)

    async def run(
        self, command: tuple[str, ...], cwd: Path, env: Mapping[str, str], timeout_s: float | None
    ) -> CommandResult:
        """Run a command; raises the errors of a workspace if it does not start, takes too long or writes too much."""
        marks = {MARKER: self._env[MARKER]} if MARKER in self._env else {}
        own = {**trace_environment(self._env), **marks, **env}
        launch = Launch(command=command, cwd=cwd, env=own, prompt=b"", box=self._box)
        until = math.inf if timeout_s is None else anyio.current_time() + timeout_s
        started = await self._supervisor.start(launch)
        if isinstance(started, Err):
            raise WorkspaceError(str(started.err_value))
        child, output = started.ok_value, bytearray()
        how = await _drained(child, output, until)
        ended = await child.ended()
        stdout = output.decode(errors="replace")
        match how:
            case "late":
                raise WorkspaceTimeoutError("it took too long", stdout=stdout, stderr=ended.stderr)
            case "flooding":
                limit = _MAX_OUTPUT_BYTES
                raise WorkspaceOutputLimitError("it wrote too much", limit=limit, stdout=stdout, stderr=ended.stderr)
            case "ended":
                code = 128 - ended.code if ended.code < 0 else ended.code  # as a shell reports the end by a signal
                return CommandResult(exit_code=code, stdout=stdout, stderr=ended.stderr)


@asynccontextmanager
async def supervised_commands(env: Mapping[str, str]) -> AsyncGenerator[Commands]:
    """Open what runs commands; leaving it ends all of them."""
    async with Supervisor.open() as supervisor:
        yield Commands(supervisor, env)


class SupervisedWorkspace(LocalWorkspaceBackend):
    """The local workspace, whose commands are supervised."""

    def __init__(self, working_dir: Path, commands: Commands) -> None:
        super().__init__(working_dir)
        self._commands = commands

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  pydantic-ai's signature
    ) -> CommandResult:
        """See `LocalWorkspaceBackend`."""
        if shell or isinstance(command, str):
            command = ("sh", "-c", command if isinstance(command, str) else " ".join(command))
        cwd = await self._get_working_dir()
        result = await self._commands.run(tuple(command), cwd, {**self._env, **(env or {})}, timeout)
        await self._get_working_dir()  # a command may have removed it
        return result


async def _drained(child: Child, output: bytearray, until: float) -> Literal["ended", "late", "flooding"]:
    """Read the output of a command to its end; end it at a time of the loop's clock, or where it writes too much."""
    try:
        with anyio.CancelScope(deadline=until):
            async for chunk in child.chunks():
                output += chunk
                if len(output) > _MAX_OUTPUT_BYTES:
                    del output[_KEPT_BYTES:]
                    return "flooding"
            await child.gone()
            return "ended"
    finally:
        child.stop()
        with anyio.CancelScope(shield=True):
            await child.gone()
    return "late"
