"""The launch record: how the runs of a task are to be made, settled when it is admitted and kept with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache, cached_property
from hashlib import sha256
from json import dumps
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from ohm_subagents._records import dataclass
from ohm_subagents.contract.acceptance import Acceptance
from ohm_subagents.contract.call_rules import CallRules
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.limits import NO_BUDGET, Budget, Clocks, LoopPolicy
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.sandbox import SandboxMode
from ohm_subagents.contract.tool_ceiling import ToolCeiling
from ohm_subagents.contract.workspace import Isolation, Land

MOST_PROGRAMS: Final = 8
"""The versions of so many programs are kept."""
_NO_LOOP: Final = LoopPolicy()
_NO_LIMITS: Final = Clocks()


@dataclass(frozen=True, kw_only=True)
class ToolGrant:
    """The child tools that a task was started with, and the rules for their calls."""

    tools: tuple[str, ...] = ()
    """The names of the child tools, and the patterns of those that are asked of servers before each run."""
    tools_are_bounded: bool = True
    """No other tool is given, not even one of the backend's own."""
    call_rules: tuple[CallRules, ...] = ()
    """The rules for the calls of these tools; a call has to pass all of them."""
    ceiling: ToolCeiling | None = None
    """The most that the tools may do, by the run that started it; kept by what continues it. None without any."""


@dataclass(frozen=True, kw_only=True)
class FileTerms:
    """The files that a task works on."""

    isolation: Isolation = "none"
    """Its files: those of the working directory, or a clone that nobody else works in but what it starts."""
    clone_of: TaskId | None = None
    """The task whose clone that is, where it is one further up: its own work is part of that one's."""
    land: Land = "never"
    """The landing of what it does in a clone, at the end of a run that succeeded."""


@dataclass(frozen=True, kw_only=True)
class OutcomeTerms:
    """The terms on which the outcome of a task counts."""

    accept: Acceptance | None = None
    """The checks of the outcome; None without any."""


@dataclass(frozen=True, kw_only=True)
class LaunchRecord(OutcomeTerms, FileTerms, ToolGrant):
    """The request that a task was started with, complete: what the call, the profile and the configuration say."""

    profile: str
    """The id of the profile."""
    instructions: str
    """The SHA-256 of the profile's system prompt, in hexadecimal digits."""
    backend: str
    """The id of the backend."""
    model: ModelPattern | None = None
    """The model and its thinking level; None leaves them to the backend."""
    fallback: tuple[ModelPattern, ...] = ()
    """The models that are asked in this order when it fails."""
    strict_model: bool = False
    """A run that another model answers fails (`model_mismatch`)."""
    sandbox: SandboxMode = "off"
    """The sandbox of what it runs."""
    permission: str = ""
    """The rule that let it run: the file and the line, or `default`."""
    cwd: str = ""
    """The working directory, an absolute path."""
    limits: Clocks = _NO_LIMITS
    """The time limits of each run, in milliseconds."""
    loop: LoopPolicy = _NO_LOOP
    """The loop rules of each run."""
    budget: Budget = NO_BUDGET
    """The budget of the task, with everything that it starts."""
    versions: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """The versions of the distributions that run it, by name: ours, and those of the backend."""
    programs: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """The versions of the programs that have run it in processes of their own, by name, once they have said them."""

    @property
    def model_name(self) -> str:
        """The name of the model at its provider; empty where the backend chooses."""
        return "" if self.model is None else self.model.model

    def run_by(self, program: str, version: str) -> LaunchRecord:
        """Return the record with the version that a program has said."""
        is_told = program in self.programs or len(self.programs) < MOST_PROGRAMS
        if not (program and version and is_told) or self.programs.get(program) == version:
            return self
        return replace(self, programs={**self.programs, program: version})

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the record as JSON with sorted keys, in hexadecimal digits: equal records have equal ones."""
        written = dumps(self.as_json(), sort_keys=True, separators=(",", ":"))
        return sha256(written.encode("utf-8", "replace")).hexdigest()

    def as_json(self) -> dict[str, JsonValue]:
        """Return the record as plain JSON."""
        written: dict[str, JsonValue] = _adapter().dump_python(self, mode="json")
        return written

    @staticmethod
    def from_json(fields: object) -> LaunchRecord | None:
        """Return the record of JSON that `as_json` wrote; None for what is none. Unknown fields are ignored."""
        try:
            return _adapter().validate_python(fields)
        except ValidationError:
            return None


def not_settled_yet(task_id: str, status: str) -> OhmError:
    """Return the error of a task whose changes nobody knows yet."""
    message = f"Task '{task_id}' is {status}: it may change more files."
    return OhmError(code=ErrorCode.NOTHING_TO_LAND, message=message, advice="Wait for it, or cancel it.")


def nothing_to_land(task_id: str, files: FileTerms | None, *, had_work: bool = False) -> OhmError:
    """Return the error of a task that has changed no files of its own, or `had_work` of which nothing is left."""
    if files is not None and files.clone_of is not None:
        message = f"Task '{task_id}' worked in the clone of task '{files.clone_of}', whose work has what it changed."
        return OhmError(code=ErrorCode.NOTHING_TO_LAND, message=message)
    if had_work or (files is not None and files.isolation == "clone"):
        return OhmError(code=ErrorCode.NOTHING_TO_LAND, message=f"Task '{task_id}' has changed nothing in its clone.")
    return OhmError(
        code=ErrorCode.NOTHING_TO_LAND,
        message=f"Task '{task_id}' had no clone, so what it changed is in your files.",
        advice='`ohm run --isolation clone` gives a task files of its own, and "isolation": "clone" under "subagents" '
        "of ohm.json each of them.",
    )


@cache
def _adapter() -> TypeAdapter[LaunchRecord]:
    return TypeAdapter(LaunchRecord)
