"""The commands of `bash`: a workspace that has them run by a supervisor, which leaves nothing of them behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio
from pydantic_ai.workspaces import (
    CommandResult,
    LocalWorkspaceBackend,
    WorkspaceCommand,
    WorkspaceError,
    WorkspaceOutputLimitError,
    WorkspaceTimeoutError,
)

from ohm_subagents.plugin import Err, OhmError, Ok, Result
from ohm_subagents.shell import MARKER, Launch, Supervisor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from ohm_subagents.shell import Child

_MAX_OUTPUT_BYTES: Final = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A command to run with this environment, for so long and with so much output at most."""

    command: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    timeout_s: float | None
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The result of a command, and how it ended: by itself, or because of its time or its output."""

    code: int
    stdout: bytes
    stderr: str
    how: Literal["ended", "late", "flooding"]


Run: TypeAlias = Callable[[Order], Awaitable[Result[Done, OhmError]]]
"""Runs a command until nothing of it is left, daemons included, however its caller ends."""


class SupervisedWorkspace(LocalWorkspaceBackend):
    """The local workspace; its commands are run by whoever can end all that they start."""

    def __init__(self, working_dir: Path, run: Run) -> None:
        super().__init__(working_dir)
        self._run = run

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
        order = Order(
            command=tuple(command),
            cwd=await self._get_working_dir(),
            env={**self._env, **(env or {})},
            timeout_s=timeout,
            max_bytes=_MAX_OUTPUT_BYTES,
        )
        ran = await self._run(order)
        if isinstance(ran, Err):
            raise WorkspaceError(str(ran.err_value))
        done = ran.ok_value
        stdout = done.stdout.decode(errors="replace")
        match done.how:
            case "late":
                raise WorkspaceTimeoutError("it took too long", stdout=stdout, stderr=done.stderr)
            case "flooding":
                limit = _MAX_OUTPUT_BYTES
                raise WorkspaceOutputLimitError("it wrote too much", limit=limit, stdout=stdout, stderr=done.stderr)
            case "ended":
                await self._get_working_dir()  # a command may have removed it
                code = 128 - done.code if done.code < 0 else done.code  # as a shell tells the end by a signal
                return CommandResult(exit_code=code, stdout=stdout, stderr=done.stderr)


_KEPT_BYTES = 64 * 1024  # of an output that was too long


@asynccontextmanager
async def supervised_commands(env: Mapping[str, str]) -> AsyncGenerator[Run]:
    """Open what runs commands; leaving it ends all of them. `env` marks the runs that this program is itself in."""
    outer = {MARKER: env[MARKER]} if MARKER in env else {}
    async with Supervisor.open() as supervisor:

        async def run(order: Order) -> Result[Done, OhmError]:
            command = tuple(order.command)
            launch = Launch(command=command, cwd=order.cwd, env={**outer, **order.env}, prompt=b"")
            started = await supervisor.start(launch)
            return started if isinstance(started, Err) else Ok(await _finished(started.ok_value, order))

        yield run


async def _finished(child: Child, order: Order) -> Done:
    output = bytearray()
    how: Literal["ended", "late", "flooding"] = "late"
    try:
        with anyio.move_on_after(order.timeout_s):
            async for chunk in child.chunks():
                output += chunk
                if len(output) > order.max_bytes:
                    how = "flooding"
                    del output[_KEPT_BYTES:]
                    break
            else:
                await child.gone()
                how = "ended"
    finally:
        child.stop()
        with anyio.CancelScope(shield=True):
            await child.gone()
    ended = await child.ended()
    return Done(code=ended.code, stdout=bytes(output), stderr=ended.stderr, how=how)
