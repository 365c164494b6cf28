"""A backend out of a dialect: one supervised process a prompt."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from ohm_subagents._plugins.backends.interface import BackendSpec, Capability
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.shell.command import locate_command
from ohm_subagents.shell.dialect import Invocation
from ohm_subagents.shell.environment import child_environment
from ohm_subagents.shell.options import ShellOptions
from ohm_subagents.shell.process import Launch, Supervisor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from ohm_subagents._plugins.backends.interface import Backend, RunOutput
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.sandbox import Box
    from ohm_subagents.shell.dialect import Dialect, Ended, Reader
    from ohm_subagents.shell.process import Child


class ShellBackend:
    """Runs each prompt as a process of its own; nothing of it is left when the answer is there."""

    def __init__(self, dialect: Dialect, options: ShellOptions, supervisor: Supervisor) -> None:
        self._dialect = dialect
        self._options = options
        self._supervisor = supervisor

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Start the process, tell what it says, and say what became of it."""
        await checkpoint()
        command = located_by(self._dialect, self._options, request.env)
        if isinstance(command, Err):
            return command
        invocation = new_invocation(request, self._supervisor)
        reader = self._dialect.reader(invocation)
        started = await start_run(self._supervisor, self._dialect, command.ok_value, invocation, self._options)
        if isinstance(started, Err):
            return started
        return await converse(started.ok_value, reader, sink, grace_s=self._options.grace_s)


def located_by(dialect: Dialect, options: ShellOptions, env: Mapping[str, str]) -> Result[tuple[str, ...], OhmError]:
    """Return the command of the options, else the dialect's own."""
    command = options.command or dialect.command
    return locate_command(command, command_environment(options, env), backend=dialect.id, install=dialect.install)


def command_environment(options: ShellOptions, env: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment with the PATH on which a command is looked for."""
    return {**env, "PATH": options.env.get("PATH") or env.get("PATH", "")}


def new_invocation(request: RunRequest, supervisor: Supervisor) -> Invocation:
    """Return the run with a private directory (0700), which `start` sees removed."""
    return Invocation(request=request, folder=Path(mkdtemp(prefix="run-", dir=supervisor.folder)))


async def start_run(
    supervisor: Supervisor,
    dialect: Dialect,
    command: tuple[str, ...],
    invocation: Invocation,
    options: ShellOptions,
    *,
    is_open: bool = False,
) -> Result[Child, OhmError]:
    """Start a run as its dialect says; with `is_open`, standard input stays open and nothing is written to it."""
    request = invocation.request

    def remove() -> None:
        shutil.rmtree(invocation.folder, ignore_errors=True)

    launch = Launch(
        command=(*command, *dialect.arguments(invocation), *options.args),
        cwd=request.cwd,
        env=child_environment(
            request, keys=dialect.keys(request), extra={**dialect.settings(invocation), **options.env}
        ),
        prompt=None if is_open else dialect.prompt(invocation).encode(errors="replace"),
        on_gone=remove,
        box=_box(dialect, invocation, command),
    )
    started = await supervisor.start(launch)
    if isinstance(started, Err):
        remove()
    return started


def _box(dialect: Dialect, invocation: Invocation, command: tuple[str, ...]) -> Box | None:
    """Return the sandbox of a run, in which its agent has its own files and reaches its model."""
    box = invocation.request.box
    return (
        None if box is None else dialect.needs(invocation).within(box.with_needs(writes=(invocation.folder,)), command)
    )


async def converse(
    child: Child, reader: Reader, sink: Sink, *, grace_s: float, look: Callable[[bytes], Awaitable[None]] | None = None
) -> Result[RunOutput, OhmError]:
    """Tell the sink what a process says until its run is over; whatever happens, the process is ended.

    `look` is awaited before each line is read.
    """
    try:
        async for line in child.lines():
            if look is not None:
                await look(line)
            for event in reader.read(line):
                sink.emit(event)
            if reader.is_over:
                break
        ended = await child.ended(within_s=grace_s if reader.is_over else None)
        return finish_run(reader, ended, sink)
    finally:
        child.stop()


def finish_run(reader: Reader, ended: Ended, sink: Sink) -> Result[RunOutput, OhmError]:
    """Return the last events of a run and its result, with the exit code of a process that ended by itself."""
    for event in reader.last(ended):
        sink.emit(event)
    code = None if ended.was_stopped else ended.code
    match reader.outcome(ended):
        case Err(error) if error.exit_code is None:
            return Err(replace(error, exit_code=code))
        case Ok(output):
            return Ok(replace(output, exit_code=code))
        case result:
            return result


def shell_backend(dialect: Dialect) -> BackendSpec[ShellOptions]:
    """Return the backend of a dialect, for a plugin to hand over."""

    @asynccontextmanager
    async def open_backend(options: ShellOptions) -> AsyncGenerator[Backend]:
        async with Supervisor.open(grace_s=options.grace_s) as supervisor:
            yield ShellBackend(dialect, options, supervisor)

    def lacks(options: ShellOptions, env: Mapping[str, str]) -> str | None:
        found = located_by(dialect, options, env)
        return str(found.err_value) if isinstance(found, Err) else None

    return BackendSpec(
        id=dialect.id,
        summary=dialect.summary,
        open=open_backend,
        options=ShellOptions,
        capabilities=dialect.capabilities | {Capability.FILES, Capability.SANDBOX},
        packages=dialect.packages,
        lacks=lacks,
    )
