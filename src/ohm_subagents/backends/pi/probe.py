"""The installed release of `pi`, and its flags. Asked once for each command."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import anyio

from ohm_subagents.backends.pi.options import BACKEND_ID, INSTALL
from ohm_subagents.plugin import Err, ErrorCode, OhmError, Ok, Result
from ohm_subagents.redaction import redacted_line, secrets_of
from ohm_subagents.shell import command_setting

RunCommand: TypeAlias = Callable[
    [tuple[str, ...], Mapping[str, str], Path], Awaitable[Result[tuple[int, str, str], OhmError]]
]
"""Runs a command to its end: (command, environment, directory) → (exit code, standard output, standard error)."""

_PATIENCE_S: Final = 20
_OLDEST: Final = (0, 73)
_VERSION: Final = re.compile(r"^v?(\d+)\.(\d+)\.(\d+)\S*$", re.MULTILINE)
_FLAG: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_TELLING: Final = re.compile(r"^.*\b\w*Error\b.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PiVersion:
    """A release of `pi`: its number, and the long flags that its help lists."""

    version: tuple[int, int, int]
    text: str
    flags: frozenset[str] = field(default=frozenset())

    @property
    def settles(self) -> bool:
        """It sends `agent_settled` when it will do no more by itself."""
        return self.version >= (0, 80, 4)

    @property
    def can_leave_projects_settings(self) -> bool:
        """It can be told to ignore the project's own settings, which name programs to run."""
        return "--no-approve" in self.flags

    @property
    def can_stay(self) -> bool:
        """It can be kept running for follow-ups (`rpc`)."""
        return self.version >= (0, 87, 0)

    @property
    def has_dollar_references(self) -> bool:
        """Its models.json names a variable as `$NAME`; before, it was `NAME`."""
        return self.version >= (0, 77, 0)


class PiProbe:
    """Knows the releases behind commands; `run` starts one. A command that was replaced on disk is asked again."""

    def __init__(self, run: RunCommand) -> None:
        self._run = run
        self._known: dict[tuple[object, ...], PiVersion] = {}
        self._asking = anyio.Lock()

    async def version(self, command: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> Result[PiVersion, OhmError]:
        """Returns `backend_command_unusable` for a located command that is too old, or does not start."""
        key = (env.get("PATH"), *identity(command, cwd))
        async with self._asking:
            if key not in self._known:
                asked = await self._ask(command, env, cwd)
                if isinstance(asked, Err):
                    return asked
                self._known[key] = asked.ok_value
            return Ok(self._known[key])

    async def _ask(self, command: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> Result[PiVersion, OhmError]:
        answers: dict[str, Result[tuple[int, str, str], OhmError]] = {}

        async def ask(flag: str) -> None:
            answers[flag] = await self._run((*command, flag), env, cwd)

        with anyio.move_on_after(_PATIENCE_S):
            async with anyio.create_task_group() as both:
                both.start_soon(ask, "--version")
                both.start_soon(ask, "--help")
        if len(answers) < 2:
            late = f'The command "{" ".join(command)}" has not told its version and its flags in {_PATIENCE_S} seconds'
            return Err(unusable(late, "Run it by hand to see what it waits for"))
        version, usage = answers["--version"], answers["--help"]
        if isinstance(version, Err):
            return version
        if isinstance(usage, Err):
            return usage
        code, *said = version.ok_value
        return read_version(" ".join(command), code, "\n".join(said), "\n".join(usage.ok_value[1:]), secrets_of(env))


def read_version(command: str, code: int, said: str, usage: str, secrets: Sequence[str]) -> Result[PiVersion, OhmError]:
    """Return the release. Some releases say their version on standard error."""
    found = _VERSION.search(said)
    if code != 0 or found is None:
        line = _TELLING.search(said)
        words = redacted_line(line[0] if line is not None else said, secrets)
        return Err(
            unusable(
                f'The command "{command}" does not start as pi: {words or f"it ended with exit code {code}"}',
                f"pi needs the node that its release asks for; install both again ({INSTALL})",
                exit_code=code,
            )
        )
    major, minor, patch = (int(part) for part in found.groups())
    if (major, minor) < _OLDEST:
        return Err(
            unusable(
                f'The command "{command}" is pi {found[0]}, and 0.73.0 is the oldest that works here',
                f"Install a newer one: {INSTALL}",
            )
        )
    return Ok(PiVersion(version=(major, minor, patch), text=found[0], flags=frozenset(_FLAG.findall(usage))))


def unserved(mode: str, pi: PiVersion) -> OhmError | None:
    """Return why this release cannot serve a `mode` of the options, or None."""
    if mode != "rpc" or pi.can_stay:
        return None
    return OhmError(
        code=ErrorCode.COMMAND_UNUSABLE,
        message=f'pi {pi.text} cannot serve mode "rpc": that needs 0.87.0 or newer.',
        advice=f'Set its mode to "auto" or "json", or change {command_setting(BACKEND_ID)}.',
    )


def identity(command: tuple[str, ...], cwd: Path) -> tuple[object, ...]:
    """Return the command, and when each file in it was last replaced."""
    return (command, *(_changed(cwd / part) for part in command))


def _changed(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except (OSError, ValueError):
        return None


def unusable(message: str, advice: str, *, exit_code: int | None = None) -> OhmError:
    """`message` and `advice` have no full stop: that another command may be named is added."""
    return OhmError(
        code=ErrorCode.COMMAND_UNUSABLE,
        message=f"{message}.",
        advice=f"{advice}, or name another in {command_setting(BACKEND_ID)}.",
        exit_code=exit_code,
    )
