"""A workspace whose commands leave nothing behind."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pydantic_ai.workspaces import (
    CommandResult,
    LocalWorkspaceBackend,
    WorkspaceCommand,
    WorkspaceError,
    WorkspaceOutputLimitError,
    WorkspaceTimeoutError,
)

from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.result import Err, Result

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
    """What came of a command, and how it ended: by itself, or because of its time or its output."""

    code: int
    stdout: bytes
    stderr: str
    how: Literal["ended", "late", "flooding"]


Run: TypeAlias = Callable[[Order], Awaitable[Result[Done, OhmError]]]
"""Runs a command until nothing of it is left, daemons included, however its caller ends."""
OpenRun: TypeAlias = Callable[[], AbstractAsyncContextManager[Run]]


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
