"""The start of a process: in a session of its own, with its pipes, and bound to the end of this program."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

from ohm_subagents._concurrency.event_loop import on_asyncio
from ohm_subagents._interpreters.interpreter import has_interpreter
from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.sandbox.box import Box
from ohm_subagents.shell.inheritance import launched, masks_signals
from ohm_subagents.shell.pipes import Inlet, Outlet

_RUNS: Final = b"+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A command to start without a shell."""

    command: tuple[str, ...]
    """The program and its arguments."""
    cwd: Path
    """The working directory."""
    env: Mapping[str, str]
    """The whole environment, but for the marker."""
    prompt: bytes | None = None
    """Written to standard input, which is then closed; with None it stays open for `Child.write`."""
    box: Box | None = None
    """The sandbox that holds it and all that it starts; None for no sandbox."""
    on_gone: Callable[[], None] = lambda: None
    """Called once, when `Child.stop` was called and nothing of the process is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A process and our ends of its pipes."""

    process: Process
    stdin: Inlet
    stdout: Outlet
    stderr: Outlet

    def close(self) -> None:
        """Close the pipes; what was written before can still be read."""
        self.stdin.close()
        self.stdout.close()
        self.stderr.close()


async def spawn(launch: Launch, env: Mapping[str, str], folder: Path) -> Result[Running, OhmError]:
    """Start it; not to be cancelled half-way. An `Err` says in one sentence why it does not start.

    `folder` is private, for what its sandbox needs.
    """
    match _program(launch):
        case Err() as unusable:
            return unusable
        case Ok(program):
            command = (program, *launch.command[1:])
    if launch.box is not None:
        held = launch.box.around(command, cwd=launch.cwd, env=env, folder=folder, dies_with_us=on_asyncio())
        command, env = held.command, held.env
    try:
        return Ok(await (_launched if _needs_launcher() else _direct)(command, launch.cwd, env))
    except (OSError, ValueError) as error:
        return _unusable(f'"{program}" does not start: {getattr(error, "strerror", None) or error}.')


def _program(launch: Launch) -> Result[str, OhmError]:
    """Return the file that is to be run."""
    name, path = launch.command[0], launch.env.get("PATH", os.defpath)
    if not os.path.isdir(launch.cwd):
        message = f'The working directory "{launch.cwd}" is not there.'
        return Err(OhmError(code=ErrorCode.CWD_UNREADABLE, message=message))
    if not os.path.dirname(name):  # noqa: PTH120  "./name" has a folder, which pathlib drops
        if found := shutil.which(name, path=path):
            return Ok(found)
        return _unusable(f'The command "{name}" was not found in any of the folders of PATH ({path}).')
    file = launch.cwd / name
    if not os.path.isfile(file):
        return _unusable(f'The command "{file}" is not there.')
    return Ok(f"{file}") if os.access(file, os.X_OK) else _unusable(f'The command "{file}" is not executable.')


def _unusable(message: str) -> Err[OhmError]:
    return Err(OhmError(code=ErrorCode.COMMAND_UNUSABLE, message=message))


def _needs_launcher() -> bool:
    """Always on Linux, where it does more than set the signals back; not without an interpreter that could run it."""
    return has_interpreter() and (sys.platform == "linux" or masks_signals())


def _parent() -> int:
    """With whose death the kernel is to end the process.

    Nobody's on trio: there a worker thread forks, and the kernel means the end of that thread, which comes after ten
    idle seconds.
    """
    return os.getpid() if on_asyncio() else 0


async def _launched(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Running:
    """Through the launcher, which becomes the command under the same pid."""
    with ExitStack() as ours:
        with ExitStack() as theirs:
            status, told_by = _pipe(ours, theirs)
            words = launched(command, parent=_parent(), status=told_by)
            running = await _direct(words, cwd, env, passed=(told_by,))
        ours.pop_all()
    told = await _all_of(Outlet(status))
    if told == _RUNS:
        return running
    running.close()
    await running.process.wait()
    if not told:  # the interpreter itself does not run in this environment
        return await _direct(command, cwd, env)
    number = int(told.removeprefix(_RUNS))
    raise OSError(number, os.strerror(number))


async def _direct(command: Sequence[str], cwd: Path, env: Mapping[str, str], *, passed: Sequence[int] = ()) -> Running:
    with ExitStack() as ours, ExitStack() as theirs:
        stdin, to_stdin = _pipe(theirs, ours)
        from_stdout, stdout = _pipe(ours, theirs)
        from_stderr, stderr = _pipe(ours, theirs)
        process = await anyio.open_process(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=env,
            start_new_session=True,
            pass_fds=passed,
        )
        ours.pop_all()
    return Running(process=process, stdin=Inlet(to_stdin), stdout=Outlet(from_stdout), stderr=Outlet(from_stderr))


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """Return a new pipe as (reading end, writing end), and who closes which."""
    reading, writing = os.pipe()
    reader.callback(os.close, reading)
    writer.callback(os.close, writing)
    return reading, writing


async def _all_of(outlet: Outlet) -> bytes:
    told = b""
    while chunk := await outlet.read():
        told += chunk
    return told
