"""Commands to the engine. They know no tool payload."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Literal, Protocol

from pydantic import JsonValue

from ohm_subagents._records import dataclass
from ohm_subagents.contract.acceptance import Acceptance
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.limits import Budget, Limits, LoopPolicy
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.requests import Answer, AnsweredBy
from ohm_subagents.contract.sandbox import SandboxMode
from ohm_subagents.contract.task import Invocation
from ohm_subagents.contract.text import Redactor
from ohm_subagents.contract.workspace import Isolation, Land

Op = Literal["start", "status", "wait", "send", "cancel", "answer", "land", "discard"]
WaitMode = Literal["all", "any"]
Preface = str | Callable[[], str]
"""Text that precedes a prompt, or a function that makes it, called in a thread when the run begins."""


class NamedTool(Protocol):
    """A tool, of which a command knows the name."""

    @property
    def name(self) -> str:
        """The name that a model calls."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOverrides:
    """The choices of one call on its answer and its outcome."""

    result_schema: Mapping[str, JsonValue] | None = field(default=None, hash=False)
    """The JSON schema of the answer, which then has to be handed in."""
    misfit: Callable[[str], str | None] | None = None
    """Return what is wrong with an answer, JSON text that fits the schema; None if nothing is."""
    accept: Acceptance | None = None
    """Checks of the outcome, besides those of the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides(AnswerOverrides):
    """The choices of one call, in place of those of the profile and of the configuration; None leaves one to them."""

    model: str | None = None
    """A model pattern, a name of the menu or `inherit`, as the caller typed it."""
    parent_model: str | None = None
    """The model that the caller runs on, for `inherit`; None where that is not known."""
    strict_model: bool | None = None
    """A run that another model answers fails."""
    isolation: Isolation | None = None
    """A clone of the files; `none` does not lift what the profile or the configuration demands."""
    land: Land | None = None
    """The landing of its work; `clean` does not lift what the profile or the configuration forbids."""
    backend: str | None = None
    """The id of a backend."""
    sandbox: SandboxMode | None = None
    """The sandbox of the task; a stricter one of the profile, the configuration or the caller wins."""
    limits: Limits | None = None
    """Limits of each run of the task."""
    loop: LoopPolicy | None = None
    """The loop rules of each run of the task."""
    cwd: Path | None = None
    """The directory of the task: an absolute path."""
    tools: tuple[NamedTool, ...] = ()
    """Child tools of the call (`ohm_subagents.plugin.Tool`), besides those of the profile."""
    tool_names: tuple[str, ...] = ()
    """Names, and patterns with `*`, of child tools of plugins and MCP servers, besides those of the profile."""
    allow: tuple[str, ...] | None = None
    """The most of the profile's tools, and of their calls, that the task has, as a list of a profile names them; None
    for all. What `tools` and `tool_names` add is not held to it."""
    deny: tuple[str, ...] = ()
    """The tools, and the calls, that the task does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The session that a task is to be in."""

    id: SessionId
    """Its id; no other session has it."""
    resumes: bool = False
    """Continue from the newest task of the session."""
    checkpoint: str | None = None
    """Continue from this state instead, of a session whose state the caller keeps."""


NO_OVERRIDES: Final = Overrides()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartItem:
    """One task to start.

    Fields:
        profile: the id as the caller typed it; or the profile itself, complete, as a suite has found it. Settings of
            ohm.json hold for an id, and for a profile that belongs to a suite (`Profile.suite`).
        description: what the task is called.
        prompt: the text for the subagent.
        overrides: the choices of this call.
        invocation: the kind of tool that asks.
        is_one_shot: no follow-up is expected; true for each of several items.
        preface: text that precedes the prompt of the first run.
        session: the session of the task; None for a new one.
        refusal: the error by which a suite refuses the item; one with a session is kept as a failed task.
        redaction: applied to every text of the task before it is recorded or shown, when it is whole. The state of
            the conversation is not redacted; a one-shot stores none unless it has a session or must finalize.
    """

    profile: str | Profile
    description: str
    prompt: str
    overrides: Overrides = NO_OVERRIDES
    invocation: Invocation = "task-routed"
    is_one_shot: bool = False
    preface: Preface = ""
    session: Session | None = None
    refusal: OhmError | None = None
    redaction: Redactor | None = field(default=None, repr=False)

    @property
    def profile_id(self) -> str:
        """Return the id of the profile, as the caller typed it or as a suite has found it."""
        return self.profile.id if isinstance(self.profile, Profile) else self.profile

    @property
    def has_settings(self) -> bool:
        """Return True if the settings of ohm.json for the id of the profile apply."""
        return not isinstance(self.profile, Profile) or bool(self.profile.suite)


def check_cwd(cwd: Path | None) -> OhmError | None:
    """Refuse a directory of a call that is relative, that has `..` in it, or that is no path of this system."""
    if cwd is None:
        return None
    try:
        is_path = b"\0" not in os.fsencode(cwd)
    except UnicodeEncodeError:
        is_path = False
    if not is_path:
        wrong = f"cwd is {str(cwd)!r:.200}, which holds a character that no path can have."
        return OhmError(code=ErrorCode.CWD_INVALID, message=wrong, advice="Give an existing directory.")
    if not cwd.is_absolute():
        return OhmError(code=ErrorCode.CWD_INVALID, message="cwd must be an absolute path")
    if ".." in cwd.parts:
        return OhmError(code=ErrorCode.CWD_INVALID, message="cwd must not contain '..' path segments")
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start the items; a single task is a batch of one."""

    items: tuple[StartItem, ...]
    """The tasks to start, in the order of their replies."""
    parallel: bool = False
    """Run the items at the same time instead of one after another."""
    background: bool = False
    """Return as soon as the items are admitted."""
    background_after_ms: int | None = None
    """Return after so many milliseconds, though items go on in the background then; None as configured."""
    may_go_on: bool = False
    """The caller takes a reply in which tasks go on, though it waits for them."""
    by_program: bool = False
    """A program asks, which may always start in the background; a model may if the configuration says so."""
    budget: Budget | None = None
    """Shared by all items and whatever they start."""
    parent: TaskId | None = None
    """A task that runs, and that the items are below: they end with it, and are charged to its budget."""
    limit: int | None = None
    """The most items that run at once; None as configured."""
    max_depth: int | None = None
    """The most levels of tasks, in place of the configured number."""
    op: Literal["start"] = "start"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTasks:
    """Return the newest state of tasks."""

    ids: tuple[str, ...]
    """Ids of tasks, in the order of their replies."""
    op: Literal["status"] = "status"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Wait until every task is settled or unknown. Never cancels anything."""

    ids: tuple[str, ...]
    """Ids of tasks, in the order of their replies."""
    timeout_ms: int | None = None
    """The longest wait, in milliseconds; None for no limit."""
    mode: WaitMode = "all"
    """With `any`, wait only until one of the tasks is settled or unknown."""
    until_asked: bool = False
    """Stop to wait when one of the tasks has a request that waits for an answer, too."""
    op: Literal["wait"] = "wait"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Send a follow-up to a task; answered when the run that takes it has ended."""

    id: str
    """The id of the task."""
    prompt: str
    """The text of the follow-up."""
    item: StartItem | None = None
    """The item whose choices hold for what continues a settled task; None takes those that its record shows."""
    profile: Profile | None = None
    """The profile of what continues a settled task; None for that of the task."""
    tools: tuple[NamedTool, ...] | None = None
    """The child tools of the call for what continues a settled task; None for those of the item."""
    redaction: Redactor | None = field(default=None, repr=False)
    """Redacts the task that continues a settled one; a task that goes on has its own (`StartItem.redaction`)."""
    op: Literal["send"] = "send"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop a task; it is recorded as cancelled at once."""

    id: str
    """The id of the task."""
    by: str = ""
    """The one who asks for it, a word of `Asker` or of a later release; empty where that is not known."""
    op: Literal["cancel"] = "cancel"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """Answer a request of a subagent."""

    id: str
    """The id of the request."""
    answer: Answer
    """The answer."""
    by: AnsweredBy = "tool"
    """The one who answers."""
    op: Literal["answer"] = "answer"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LandWork:
    """Make the changes that a settled task has kept apart to the files of its directory, or discard them."""

    id: str
    """The id of the task."""
    op: Literal["land", "discard"] = "land"
    """The op of the envelope."""


Command = Start | GetTasks | Wait | Send | Cancel | AnswerRequest | LandWork
