"""A command-line agent as data: its command line, its output, its end, and what success is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final, Protocol, cast

from pydantic_core import from_json

from ohm_subagents._plugins.backends.interface import Capability, RunOutput
from ohm_subagents._plugins.backends.request import RunRequest
from ohm_subagents._plugins.suites.tool import JsonObject
from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import RunEvent
from ohm_subagents.contract.result import Result
from ohm_subagents.shell.needs import Needs

_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")
_NOISE: Final = re.compile(r"\s*$|\s*WARN|\s*Warning:|\s+at |\s*\d+: |Stack backtrace|\[STARTUP\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One run, as a dialect sees it."""

    request: RunRequest
    """The run."""
    folder: Path
    """A private directory (0700) for files of this run, such as a session file; removed when nothing of the process
    is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of a process."""

    code: int
    """The exit code, or minus the signal."""
    stderr: str = ""
    """The end of its standard error."""
    was_stopped: bool = False
    """It was ended because its reader said that the run is over, so the code says nothing."""

    @property
    def how(self) -> str:
        """The way it ended, in words that go on from its name."""
        if self.was_stopped:
            return "was stopped"
        return f"was ended by signal {-self.code}" if self.code < 0 else f"ended with exit code {self.code}"

    def last_words(self, is_known: Callable[[str], bool] = lambda _line: False) -> str:
        """Return the line of its standard error that says what is wrong, or the last; empty for none.

        That is the first which `is_known`, else the first that names an error. Warnings and stacks are passed over.
        """
        lines = [line.strip() for line in _COLOUR.sub("", self.stderr).splitlines() if not _NOISE.match(line)]
        errors = (line for line in lines if "error" in line.lower())
        return next(filter(is_known, lines), next(errors, lines[-1] if lines else ""))


class Reader(Protocol):
    """Reads the output of one run; pure, so that a recorded stream replays through it.

    Unknown lines and unknown records are passed over: a CLI brings new ones with every release.
    """

    def read(self, line: bytes) -> Iterable[RunEvent]:
        """Return the events of a line of standard output, without its line end. A `Checkpointed` says how to resume."""
        ...

    @property
    def is_over(self) -> bool:
        """The run has ended, so that nothing more has to be read."""
        ...

    def last(self, ended: Ended) -> Iterable[RunEvent]:
        """Return the events that are known only now that the process is gone; called once, before `outcome`."""
        ...

    def outcome(self, ended: Ended) -> Result[RunOutput, OhmError]:
        """Return the result of the run, once the process is gone. Prefer what the stream says to the exit code."""
        ...


def records(line: bytes) -> JsonObject | None:
    """Return the JSON object that a line holds, or None: a CLI may print other things between its records."""
    try:
        value = from_json(line)
    except ValueError:
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def full_prompt(request: RunRequest) -> str:
    """Return the prompt, below what was said before in the session, for a CLI that has no conversation to resume."""
    if request.checkpoint is not None or not request.history:
        return request.prompt
    said = [f"User:\n{one.prompt}\n\nAssistant:\n{one.output}" for one in request.history]
    return "\n\n".join(["This is the conversation so far.", *said, "Now the user says:", request.prompt])


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A command-line agent."""

    id: str
    """The id of the backend."""
    summary: str
    """The purpose, in one line."""
    command: tuple[str, ...]
    """The command to start, unless the options name another."""
    install: str
    """The command that installs it."""
    arguments: Callable[[Invocation], Sequence[str]]
    """Return the arguments, which follow the command."""
    prompt: Callable[[Invocation], str]
    """Return the text for its standard input, which is then closed."""
    reader: Callable[[Invocation], Reader]
    """Return the reader of its output."""
    capabilities: frozenset[Capability] = field(default=frozenset())
    """The capabilities of the backend."""
    packages: tuple[str, ...] = ()
    """The distributions whose versions are kept with each task, as `BackendSpec.packages`."""
    keys: Callable[[RunRequest], Iterable[str]] = lambda _request: ()
    """Return names of environment variables that it may have besides the allowlist."""
    settings: Callable[[Invocation], Mapping[str, str]] = lambda _invocation: {}
    """Return variables to set for it."""
    needs: Callable[[Invocation], Needs] = lambda _invocation: Needs()
    """Return its own files, which it needs in a sandbox."""
