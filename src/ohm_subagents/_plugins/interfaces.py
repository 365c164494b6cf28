"""The plugin contract, whole: what a plugin gives us and what it gets. Everything here is public as `.plugin`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue
from typing_extensions import TypeVar

from ohm_subagents._plugins.gate import Gate
from ohm_subagents._views.preview import MAX_LINES, preview_lines
from ohm_subagents.contract.commands import Command, Reply
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import Event, RunEvent
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.result import Result
from ohm_subagents.contract.task import Task

if TYPE_CHECKING:
    import anyio
    from pydantic_ai.models import Model

JsonObject: TypeAlias = dict[str, JsonValue]


class Options(BaseModel):
    """Base of a backend's options, validated from `subagents.backends.<id>` of ohm.json. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


OptionsT = TypeVar("OptionsT", bound=Options, default=Options)


class Capability(StrEnum):
    """What a backend can do beyond one prompt, one answer. The engine degrades without it."""

    SESSIONS = "sessions"
    """Continues a conversation from `RunRequest.checkpoint`."""
    FILES = "files"
    """Works in the task's cwd, which therefore has to be a readable directory."""
    STEERING = "steering"
    """Takes follow-ups into the run that goes on, through `RunRequest.inbox`; without it each becomes the next run."""
    CHILD_TOOLS = "child_tools"
    """Gives the subagent the tools of `RunRequest.child_tools`."""
    USAGE = "usage"
    """Reports what it consumed as `UsageAdded`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An earlier run of the session: what was asked, what was answered."""

    prompt: str
    output: str


class Inbox(Protocol):
    """Follow-ups that arrive while a run goes on."""

    def steered_by(
        self, steer: Callable[[str], bool], finish: Callable[[str], bool] | None = None
    ) -> AbstractContextManager[None]:
        """While this is open, every follow-up is offered to `steer`, those that wait already first.

        `steer` says whether the run has taken it; what it refuses becomes the next run. `finish` is called at most once
        with the engine's wish that the run answers now with what it has: the text is for the model, which gets no tools
        any more. Both are called in the event loop's thread, must not block, and are never called after the context
        was left.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One prompt for one backend.

    `instructions` says who the subagent is; `prompt` is the user's text, untouched. `tools` are the names the policy
    resolved; `child_tools` are tools that plugins bring for
    subagents. `history` is the session so far, oldest first, and `checkpoint` the newest state this backend recorded.
    `inbox` is there for a backend that declares `STEERING`. `gate` is asked before each model request; a backend that
    never asks has its budgets checked only after the fact, from the usage it reports. `is_one_shot`: no follow-up is
    expected, as for an item of a batch, so nothing has to be kept ready for one. `env` is the environment that the
    `Ohm` was opened with, keys included; `depth` is how deep this subagent is, 1 for one that a program starts.
    """

    task_id: TaskId
    session_id: SessionId
    profile: Profile
    description: str
    prompt: str
    instructions: str
    cwd: Path
    tools: tuple[str, ...] = ()
    child_tools: tuple[Tool, ...] = ()
    model: ModelPattern | None = None
    mode: str = "smart"
    history: tuple[Exchange, ...] = ()
    checkpoint: str | None = None
    inbox: Inbox | None = None
    gate: Gate | None = None
    is_one_shot: bool = False
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    depth: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutput:
    """The whole answer, uncut. `summary` replaces the engine's `<Name>: <description>` when given."""

    text: str
    summary: str = ""


class Sink(Protocol):
    """Where a backend reports; synchronous, so state never changes half-way and no observer can suspend a backend."""

    def emit(self, event: RunEvent) -> None:
        """Record one fact about the run. Ignored once the run has returned."""
        ...


class Backend(Protocol):
    """Turns a RunRequest into events and one result. Knows no task, policy, timeout or batch.

    The law: expected failures are `Err`, never raised. Cancellation is never swallowed. Every run reaches a checkpoint
    of the event loop. No event after return. Nothing is shared between runs except what `open` created.
    """

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run one prompt to its end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSpec(Generic[OptionsT]):
    """A backend that a plugin offers.

    `open` is entered on first use and closed with the `Ohm`; failing to open is the error of the task that needed it.
    `label` is what envelopes show as `backend` when that is not the id. `lacks` says in one sentence what is missing
    to use it with these options in this environment, or None; it is asked by `ohm doctor` only.
    """

    id: str
    summary: str
    open: Callable[[OptionsT], AbstractAsyncContextManager[Backend]]
    options: type[OptionsT]
    capabilities: frozenset[Capability] = frozenset()
    label: str = ""
    lacks: Callable[[OptionsT, Mapping[str, str]], str | None] = lambda _options, _env: None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model provider that a plugin offers to the in-process backend.

    `open` makes a pydantic-ai `Model` for a pattern of this provider, or says why not; models are cached and closed
    with the `Ohm`. `keys` are the environment variables of which one must be set (empty: none needed). `default_model`
    is the provider's row of the default table, used when one of its keys is there and nothing else names a model.
    `is_free`: its models cost nothing, so that a budget of money has nothing against them.
    """

    provider: str
    summary: str
    open: Callable[[ModelPattern], Result[Model, OhmError]]
    keys: tuple[str, ...] = ()
    default_model: str | None = None
    is_free: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool call gives back: `text` for the model, `details` for machines, views for people."""

    text: str
    details: JsonObject
    is_error: bool = False
    view: Callable[[bool, int], str] | None = field(default=None, repr=False, compare=False)
    preview_max_lines: int = field(default=MAX_LINES, repr=False, compare=False)

    def render(self, *, expanded: bool = False, width: int = 120) -> str:
        """The text for a person, `width` terminal cells wide."""
        return self.text if self.view is None else self.view(expanded, width)

    def preview(self, *, width: int = 120) -> str:
        """The newest lines of the collapsed view, as many as are configured, below a note that counts the others."""
        return "\n".join(preview_lines(self.render(width=width), width=width, max_lines=self.preview_max_lines))


OnUpdate: TypeAlias = Callable[[ToolResult], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool: arguments as the model wrote them, where progress frames go, and how the host aborts it."""

    arguments: JsonValue
    on_update: OnUpdate | None = None
    abort: anyio.Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of a suite, for any host: name, texts, JSON schema, and `execute`, which never raises for bad input."""

    name: str
    label: str
    description: str
    input_schema: Mapping[str, JsonValue]
    execute: Callable[[ToolCall], Awaitable[ToolResult]]
    render_call: Callable[[JsonValue], str]


class Observer(Protocol):
    """Reads every event; changes nothing. One that raises is logged once and muted for that task."""

    def notify(self, task: Task, event: Event) -> None:
        """`event` has just been applied; `task` is the state after it."""
        ...


class Progress(Protocol):
    """Who watches a command being carried out."""

    def step(self, snapshot: Callable[[], Reply], event: Event | None) -> None:
        """Something happened; `snapshot` makes the reply as it would be now. `event` is None for the first look."""
        ...


class Executor(Protocol):
    """The engine as a suite sees it."""

    async def execute(
        self, command: Command, *, progress: Progress | None = None, abort: anyio.Event | None = None
    ) -> Reply:
        """Carry out a command; never raises for bad input.

        `progress` hears of every event of the tasks that it starts or touches, and of no others. Setting `abort` has
        the effect of cancelling the caller, except that there is a reply.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a suite may know of the configuration in force.

    `output_max_chars` caps an answer in a payload, in code points; `onupdate_throttle_ms` is the least time between two
    progress frames of one call; `debug` makes views show every field of a result; `transcript_tail_lines` is how many
    tool rows a collapsed view shows, `result_preview_lines` how many lines a preview; `options` is
    `suiteOptions.<name>` of ohm.json.
    """

    output_max_chars: int
    onupdate_throttle_ms: int
    debug: bool
    transcript_tail_lines: int
    result_preview_lines: int
    options: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteContext:
    """What a suite gets to build its tools; `profiles` (the visible roster) and `settings` are asked at each call.

    `status` is the status line for frames, where no host shows it; `wording` what plugins call a tool with a payload.
    """

    executor: Executor
    profiles: Callable[[], tuple[Profile, ...]]
    settings: Callable[[], Settings]
    status: Callable[[], str | None] = lambda: None
    wording: Callable[[str, str], str | None] = lambda _tool, _payload: None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSuiteSpec:
    """A tool suite that a plugin offers: `parent` tools delegate, `child` tools are given to subagents."""

    name: str
    summary: str
    build: Callable[[SuiteContext], tuple[Tool, ...]]
    audience: Literal["parent", "child"] = "parent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRowRequest:
    """A tool event about to be shown as a row."""

    tool: str
    payload: str
