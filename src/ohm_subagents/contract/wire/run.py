"""A run as data: all of a request that may travel. Keys, the environment and functions stay where they are."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from pydantic import JsonValue

from ohm_subagents._records import dataclass
from ohm_subagents.contract.call_rules import CallRules
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.tool_ceiling import Delegation
from ohm_subagents.contract.wire.lenient import AnyError


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The files that a run works on."""

    path: str
    """The directory of the task, as the submitter knows it."""
    kind: Literal["shared", "bundle"] = "shared"
    """`shared`: the runner sees the same directory. `bundle`: it clones what `bundle` holds, and works in the clone."""
    bundle: str = ""
    """A git bundle in base64, of kind `bundle`."""
    within: str = ""
    """The directory of the task in what the bundle holds; empty for the whole of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireTool:
    """A child tool without its functions: the submitter carries out its calls."""

    name: str
    """The name that the model calls."""
    label: str
    """The name that people see."""
    description: str
    """For the model."""
    input_schema: dict[str, JsonValue] = field(hash=False)
    """The JSON schema of the arguments."""
    prompt_snippet: str = ""
    """One line for the system prompt of an agent that may call the tool."""
    prompt_guidelines: tuple[str, ...] = ()
    """Rules for that prompt."""
    only_if_named: bool = False
    """Given only to a profile that names it."""
    checks_arguments: bool = False
    """The tool refuses bad arguments itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireExchange:
    """An earlier run of the session."""

    prompt: str
    """The prompt."""
    output: str
    """The answer; empty if the run failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireSpec:
    """The facts about the runs of a task, as `RunSpec` has them, but for its environment."""

    profile: Profile
    """The profile that does the work, without the key and the variables of its agent."""
    description: str
    """The title of the task."""
    instructions: str
    """The system text."""
    workspace: Workspace
    """The files that it works on."""
    tools: tuple[str, ...] = ()
    """The names of the child tools that the policy allows."""
    tools_are_bounded: bool = True
    """No other tool may be given."""
    child_tools: tuple[WireTool, ...] = ()
    """The tools whose calls come back to the submitter."""
    call_rules: tuple[CallRules, ...] = ()
    """The rules for the calls of `tools`."""
    passes: Delegation | None = None
    """The ceilings of the tools of what the run starts; None without any."""
    model: ModelPattern | None = None
    """The model that is asked for; None leaves the choice to the backend."""
    mode: str = "smart"
    """`defaultMode` of ohm.json."""
    is_one_shot: bool = False
    """No follow-up is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRun:
    """One prompt for one backend, as `RunRequest` has it."""

    task_id: str
    """The id of the task."""
    session_id: str
    """The id of its session."""
    prompt: str
    """The text for the model, untouched."""
    spec: WireSpec
    """The facts about the runs of the task."""
    history: tuple[WireExchange, ...] = ()
    """The session so far, oldest first."""
    checkpoint: str | None = None
    """The newest state that the backend recorded in the session."""
    has_inbox: bool = False
    """Follow-ups may come while the run goes on."""
    has_gate: bool = False
    """The submitter is asked before each model request and each call of a tool."""
    unpriced: AnyError | None = None
    """The error of a cost budget that a model without a known price cannot keep, with `{provider}` and `{model}` in
    place of their names; None without such a budget."""
    depth: int = 1
    """The depth of the subagent, 1 for one that a program starts."""
