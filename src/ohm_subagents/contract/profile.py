"""Profiles, and requests to run one. Built-ins and the user's come from the same loader; nothing branches on an id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Literal

from pydantic import JsonValue

from ohm_subagents._records import dataclass
from ohm_subagents.contract.acceptance import Acceptance
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.call_rules import CallRules
from ohm_subagents.contract.limits import Budget, Ceiling, Limits
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.sandbox import SandboxMode
from ohm_subagents.contract.workspace import Isolation, Land

InputRole = Literal["prompt", "context", "files", "description"]
StartVerdict = Literal["allow", "deny"]
Verdict = StartVerdict | Literal["ask"]
CHILD_TOOLS: Final = ("read", "bash", "edit", "write", "grep", "find", "ls", "code_search")
"""The tools that come with every subagent, in the order in which every list gives them; tools of plugins follow."""
READING_TOOLS: Final = ("read", "grep", "find", "ls", "code_search")
"""The child tools that change nothing and start nothing."""
ASK_PARENT: Final = "ask_parent"
"""The tool by which a subagent asks whoever has started it; only subagents whose list names it have it."""
FINALIZE: Final = "subagent_finalize"
"""The tool with which a subagent hands in its answer; only subagents whose profile demands it have it."""


def fold_id(text: str) -> str:
    """Return the id of a profile as it is compared: trimmed, without case in any script."""
    return text.strip().casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    """The child tools that a profile may use."""

    allowed: tuple[str, ...] | None = None
    """Exactly these; None is every tool that there is."""
    denied: tuple[str, ...] = ()
    """None of these, whatever is allowed."""
    call_rules: tuple[CallRules, ...] = ()
    """Rules for the calls of the tools, those of each file; a call has to pass all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """One field of a direct tool's input."""

    name: str
    """The name of the field."""
    role: InputRole
    """`prompt` is the main text; the others become blocks of the prompt."""
    required: bool = False
    """A call without it is refused."""
    description: str = ""
    """The description for the calling model."""


@dataclass(frozen=True, kw_only=True)
class Rights:
    """The rights of a subagent."""

    tools: ToolPolicy = ToolPolicy()
    """The child tools that it may use."""
    delegate: tuple[str, ...] = ()
    """Profiles that get the tools of their own configuration where it starts them, and not at most its own."""
    env: tuple[str, ...] = ()
    """Variables of this process that a command-line agent which runs the profile may see."""
    sandbox: SandboxMode = "off"
    """The sandbox that it demands; a stricter one of the configuration or the call wins."""
    agent: AgentOptions | None = None
    """The options of its coding agent; None for a profile of the roster."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The bounds that end a subagent's run early."""

    limits: Limits | None = None
    """Limits of each run."""
    budget: Budget | None = None
    """The budget of each task, with everything that it starts."""
    ceiling: Ceiling | None = None
    """The limits and the budget that a project's file sets; they only lower the others."""
    polling: tuple[str, ...] = ()
    """Tools that the loop guard lets repeat."""


@dataclass(frozen=True, kw_only=True)
class AnswerForm:
    """The form in which a subagent has to answer."""

    finalize: Literal["required"] | None = None
    """An answer counts only if it is handed in by the tool `subagent_finalize`."""
    corrections: int = 2
    """The most times that a run is asked for an answer that it has not handed in."""
    result_schema: Mapping[str, JsonValue] | None = field(default=None, hash=False)
    """The JSON schema of the result that is handed in; without one it is a text."""
    accept: Acceptance | None = None
    """The checks of the outcome; those of a call are added to them."""


@dataclass(frozen=True, kw_only=True)
class OwnModel:
    """The model of a subagent."""

    model: ModelPattern | None = None
    """Its own choice of a model; None leaves it to the configuration."""
    model_name: str = ""
    """A name of the menu `subagents.models`, or `inherit`, in place of `model`; empty for neither."""
    fallback_model: ModelPattern | None = None
    """The model where nothing else names one and no provider's key is set."""
    strict_model: bool | None = None
    """A run that another model answers fails; None leaves it to the configuration."""


@dataclass(frozen=True, kw_only=True)
class Profile(OwnModel, Rights, Bounds, AnswerForm):
    """A kind of subagent: its prompt, and by its bases its model, its rights, its bounds and its answer's form."""

    id: str
    """The name that callers use, compared without case."""
    name: str
    """The name that people read."""
    summary: str
    """The purpose, in one line of the roster."""
    prompt: str
    """The system prompt."""
    when_to_use: tuple[str, ...] = ()
    """Hints for the calling model."""
    primary: bool = False
    """It is a direct tool besides."""
    internal: bool = False
    """It is hidden and does not run unless `allowInternalRouting` is set."""
    backend: str | None = None
    """The backend that it runs on; None leaves it to the configuration."""
    isolation: Isolation | None = None
    """The files that it works on; None leaves it to the configuration."""
    land: Land | None = None
    """The landing of its work; None leaves it to the configuration and the call."""
    inputs: tuple[InputSpec, ...] = ()
    """The fields of its direct tool; empty for a prompt alone."""
    feature: str | None = None
    """The flag of `features` that has to be on."""
    notes: tuple[str, ...] = ()
    """Notes about the parts of its file that have no effect; each of its tasks gets them."""
    source: str = ""
    """The file that it was read from."""
    suite: str = ""
    """The tool suite whose file it is from: its `ProfileSource` completes the profile before each task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """The start of a task, which a rule may deny."""

    profile: Profile
    """The profile that is to run."""
    description: str
    """The title of the task."""
    prompt: str
    """The prompt of the task."""
    cwd: Path
    """The working directory of the task."""
    tools: tuple[str, ...]
    """The child tools that it is to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict; the most restrictive one wins."""

    verdict: Verdict
    """Allow or deny; of a call of a tool also ask: somebody decides before it runs."""
    source: str
    """The origin of the decision: the file and the key, or the plugin."""
    reason: str = ""
    """The reason, for people."""
    is_default: bool = False
    """True for an ask that only the rules of a built-in profile make: allowed where nobody can answer."""
