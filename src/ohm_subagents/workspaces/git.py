"""Git as a program that reads no setting of a repository that is not ours."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._records import dataclass
from ohm_subagents.contract.truncation import shortened
from ohm_subagents.workspaces.failure import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

TIME_S: Final = 300
"""Seconds for one command: one that reads a pipe in place of a file never ends."""
_ERROR_CHARS: Final = 300
_PASSED: Final = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_FIXED: Final = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    **{f"GIT_{who}_NAME": "ohm-subagents" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ohm-subagents@localhost" for who in ("AUTHOR", "COMMITTER")},
}
_IGNORED: Final = ("config", "--includes", "--type=path", "--get", "core.excludesFile", "--file")
_ONE_SETTING: Final = ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The output of a command that has ended."""

    code: int
    """Its exit code."""
    stdout: bytes
    """Its output."""
    stderr: bytes
    """Its errors."""

    @property
    def line(self) -> str:
        """The output as one line of text."""
        return self.stdout.decode("utf-8", "surrogateescape").strip()


class Git:
    """Runs git with the places of the user, and none of the variables by which git is told how to work."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = {name: env[name] for name in _PASSED if name in env} | _FIXED
        self._program = program_in(env.get("PATH", os.defpath))
        self._ignoring: dict[str, str] | None = None

    async def run(
        self, *arguments: str, cwd: Path, stdin: bytes = b"", more: Mapping[str, str] | None = None
    ) -> Output:
        """Return what a command says. Raises `WorkspaceError`, in the words of git, if it fails."""
        output = await self.ended(*arguments, cwd=cwd, stdin=stdin, more=more)
        if output.code:
            told = f"'git {_name(arguments)}' failed in '{cwd}': {_words(output)}."
            raise WorkspaceError(told)
        return output

    async def ended(
        self, *arguments: str, cwd: Path, stdin: bytes = b"", more: Mapping[str, str] | None = None
    ) -> Output:
        """Return how a command ends. Raises `WorkspaceError` if it does not start, or does not end in time."""
        if self._program is None:
            missing = "git is not installed."
            raise WorkspaceError(missing, "Install it: a workspace of its own is a clone.")
        try:
            with anyio.fail_after(TIME_S), TemporaryFile() as given:  # no pipe: a command may end before it has read
                given.write(stdin)
                given.seek(0)
                done = await anyio.run_process(
                    [self._program, *arguments],
                    stdin=given,
                    cwd=cwd,
                    env={**self._env, **(more or {})},
                    check=False,
                    start_new_session=True,
                )
        except TimeoutError:
            endless = f"'git {_name(arguments)}' in '{cwd}' did not end within {TIME_S} s."
            raise WorkspaceError(endless) from None
        except OSError as error:
            unstarted = f"'git {_name(arguments)}' in '{cwd}' did not run: {error.strerror or error}."
            raise WorkspaceError(unstarted) from None
        return Output(code=done.returncode, stdout=done.stdout, stderr=done.stderr)

    async def ignoring(self) -> dict[str, str]:
        """Return the variables by which git knows the user's own list of files to ignore."""
        if self._ignoring is None:
            self._ignoring = {}
            for file in self._settings_of_user():
                told = await self.ended(*_IGNORED, f"{file}", cwd=file.parent)
                if told.line:
                    values = ("1", "core.excludesFile", told.line)
                    self._ignoring = dict(zip(_ONE_SETTING, values, strict=True))
        return self._ignoring

    def _settings_of_user(self) -> tuple[Path, ...]:
        home = Path(self._env.get("HOME", ""))
        folder = Path(self._env.get("XDG_CONFIG_HOME", home / ".config"))
        files = (folder / "git" / "config", home / ".gitconfig")
        return tuple(file for file in files if file.is_absolute() and os.path.isfile(file))


def program_in(path: str) -> str | None:
    """Find the program in the absolute directories of a search path: a repository may bring a `git` of its own."""
    return shutil.which("git", path=os.pathsep.join(one for one in path.split(os.pathsep) if one.startswith("/")))


def _name(arguments: tuple[str, ...]) -> str:
    words = iter(arguments)
    return next((word for word in words if not (word == "-c" and next(words, None))), "")


def _words(output: Output) -> str:
    lines = [line.strip() for line in output.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    fault = next((line for line in lines if line.startswith(("fatal:", "error:"))), None)
    told = fault or (lines[-1] if lines else f"exit code {output.code}")
    return shortened(told.removeprefix("fatal: ").removeprefix("error: ").rstrip("."), _ERROR_CHARS)
