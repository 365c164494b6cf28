"""The contract of tool suites: what one gives us and what it gets. Everything here is public as `.plugin`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, TypeVar
from uuid import UUID, uuid4

import anyio
from pydantic import JsonValue

from ohm_subagents._plugins.embedding import Host
from ohm_subagents._plugins.observer import Observer
from ohm_subagents._views.cells import printable_json, wrapped
from ohm_subagents._views.preview import MAX_LINES, preview_lines
from ohm_subagents._views.redaction import Redaction
from ohm_subagents._views.theme import PLAIN, Theme, View
from ohm_subagents.contract.commands import Command, Reply
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import Event, Recorded
from ohm_subagents.contract.ids import Clock, SessionId
from ohm_subagents.contract.limits import Limits
from ohm_subagents.contract.pi_settings import PiSettings
from ohm_subagents.contract.place import Place
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.task import Task

JsonObject: TypeAlias = dict[str, JsonValue]
EventHandler: TypeAlias = Callable[[JsonObject], Awaitable[JsonObject | None]]
"""What a suite does at an event of the host's session, and what it answers."""
DiagnosticSource: TypeAlias = Callable[[], Iterable[Diagnostic]]
"""Return what is wrong now."""
UNMOUNTED: Final = "unmounted"
"""The event that is ours: what was registered with one context is over."""
FORMS_ONLY: Final = Redaction()
KeptT = TypeVar("KeptT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool call gives back: `text` for the model, `details` for machines, views for people.

    `has_failed`: a subagent that the call started has failed, where that is no error of the call itself (`is_error`).
    """

    text: str
    details: JsonObject
    is_error: bool = False
    has_failed: bool = False
    view: Callable[[View], str] | None = field(default=None, repr=False, compare=False)
    preview_max_lines: int = field(default=MAX_LINES, repr=False, compare=False)

    def render(self, *, expanded: bool = False, width: int = 120, theme: Theme = PLAIN) -> str:
        """The text for a person, `width` terminal cells wide; nothing in it can drive the terminal."""
        if self.view is None:
            return "\n".join(wrapped(self.text, width))
        return self.view(View(expanded=expanded, width=width, theme=theme))

    def preview(self, *, width: int = 120) -> str:
        """The newest lines of the collapsed view, as many as are configured, below a note that counts the others."""
        return "\n".join(preview_lines(self.render(width=width), width=width, max_lines=self.preview_max_lines))


OnUpdate: TypeAlias = Callable[[ToolResult], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool: arguments as the model wrote them, where progress frames go, and how the host aborts it.

    `session_id` is the session of the subagent that calls; None for the parent agent. `redaction` is for what the tool
    writes or cuts itself; the result of a suite that redacts goes through the same one, which redacts no text twice.
    For another suite it knows no values, only the common forms of secrets, and homes.
    """

    arguments: JsonValue
    on_update: OnUpdate | None = None
    abort: anyio.Event | None = None
    session_id: SessionId | None = None
    redaction: Redaction = field(default=FORMS_ONLY, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of a suite, for any host: name, texts, JSON schema, and `execute`, which never raises for bad input.

    `call_view` shows a call; `result_view` shows a result of old, of which there are the text and the details.
    `failure` is the result of a call that raised all the same; without it that is an envelope of task.v1.
    `prompt_snippet` and `prompt_guidelines` are for the system prompt of whoever may call the tool. One that is
    `only_if_named` is given to a subagent only if its profile, or ohm.json, names it. Arguments that do not fit
    `input_schema` are refused before `execute`, unless the tool `checks_arguments` itself, in its own words.
    """

    name: str
    label: str
    description: str
    input_schema: Mapping[str, JsonValue]
    execute: Callable[[ToolCall], Awaitable[ToolResult]]
    call_view: Callable[[JsonValue, Theme], str]
    result_view: Callable[[ToolResult, View], str] | None = None
    failure: Callable[[OhmError], ToolResult] | None = None
    prompt_snippet: str = ""
    prompt_guidelines: tuple[str, ...] = ()
    only_if_named: bool = False
    checks_arguments: bool = False

    def render_call(self, arguments: JsonValue, *, theme: Theme = PLAIN) -> str:
        """One line for a person: what is called. The view gets arguments without anything that can drive a terminal."""
        return self.call_view(printable_json(arguments), theme)

    def render_result(
        self, result: ToolResult, *, expanded: bool = False, width: int = 120, theme: Theme = PLAIN
    ) -> str:
        """The text of a result for a person, say of one that a host has kept."""
        if self.result_view is None:
            return result.render(expanded=expanded, width=width, theme=theme)
        return self.result_view(result, View(expanded=expanded, width=width, theme=theme))


def named_tools(tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """The names of those that are given only to who names them."""
    return tuple(name for name, tool in tools.items() if tool.only_if_named)


class Progress(Protocol):
    """Who watches a command being carried out."""

    def step(self, snapshot: Callable[[], Reply], event: Event | None) -> None:
        """Something happened; `snapshot` makes the reply as it would be now. `event` is None for the first look."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTask:
    """A task and what is known to have happened in it, oldest first; of a long one perhaps only the newest."""

    task: Task
    history: tuple[Recorded, ...]


class Executor(Protocol):
    """The engine as a suite sees it; every method raises `ClosedError` once the `Ohm` is closed,
    and `WrongEventLoopError` outside of its event loop."""

    async def execute(
        self,
        command: Command,
        *,
        observer: Observer | None = None,
        progress: Progress | None = None,
        abort: anyio.Event | None = None,
    ) -> Reply:
        """Carry out a command; never raises for bad input.

        `observer` and `progress` hear of every event of the tasks that it starts or touches, and of no others; the
        observer first. Setting `abort` has the effect of cancelling the caller, except that there is a reply.
        """
        ...

    async def read_session(self, session_id: SessionId) -> tuple[KeptTask, ...]:
        """The tasks of a session, oldest first, as far as they are kept; none if nobody knows it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a suite may know of the configuration in force.

    `output_max_chars` caps an answer in a payload, in code points; `onupdate_throttle_ms` is the least time between two
    progress frames of one call; `debug` makes views show every field of a result; `transcript_tail_lines` is how many
    tool rows a collapsed view shows, `result_preview_lines` how many lines a preview; `options` is
    `suiteOptions.<name>` of ohm.json. `limits` are the clocks that the configuration sets for every run; None is one of
    which it says nothing. `starts_async`: a model may start work that it collects later (`asyncStart`).
    """

    output_max_chars: int
    onupdate_throttle_ms: int
    debug: bool
    transcript_tail_lines: int
    result_preview_lines: int
    options: Mapping[str, JsonValue]
    limits: Limits = field(default_factory=Limits)
    starts_async: bool = False


def _without_owner(_work: Callable[[], Awaitable[None]]) -> None:
    raise RuntimeError("There is no Ohm to own a task.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDoor:
    """The program that embeds us, as a suite reaches it; without a program nothing happens and nothing is known."""

    program: Host | None = None
    """The object that was given to `Ohm.open(host=...)`."""
    on: Callable[[str, EventHandler], None] = lambda _event, _handler: None
    """Call a handler at each event of this name in the host's session (`session_start`, ...); its answer goes back.

    `unmounted` comes from us, when this context is no longer in force: the configuration has changed, which may have
    built the suite anew by then, or the `Ohm` closes.
    """
    session_file: Callable[[], Path | None] = lambda: None
    """Return the file in which the host keeps its session, if it keeps one."""
    status: Callable[[], str | None] = lambda: None
    """Return the status line for progress frames; None where the host shows it itself."""
    active_tools: Callable[[], tuple[str, ...]] = tuple
    """Return the parent agent's active tools, or all child tools if the host reports none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteContext:
    """Everything that a suite builds its tools from. Callables are asked at each call: their answers change."""

    executor: Executor
    """The engine."""
    profiles: Callable[[], tuple[Profile, ...]]
    """Return the subagents that may be shown."""
    settings: Callable[[], Settings]
    """Return what the suite may know of the configuration in force."""
    visible: Callable[[Iterable[Profile]], tuple[Profile, ...]] = tuple
    """Return those of the suite's own profiles that the user's permissions do not hide."""
    place: Place = field(default_factory=Place)
    """Directories, environment, trust and nesting."""
    host: HostDoor = field(default_factory=HostDoor)
    """The embedding program."""
    wording: Callable[[str, str], str | None] = lambda _tool, _payload: None
    """Return the row that a plugin words for a tool and its payload; None for the common one."""
    agents: Callable[[], Mapping[str, Profile]] = dict
    """Return the agent profiles of the suite `delegate` by name."""
    pi_settings: Callable[[], PiSettings] = PiSettings
    """Return the settings of the suite `delegate`."""
    redaction: Callable[[], Redaction] = Redaction
    """Return what takes secrets out of texts that the suite writes outside of calls."""
    memory: dict[str, object] = field(default_factory=dict[str, object])
    """Objects of the suite that outlive its tools, which are built anew when the configuration changes."""
    clock: Clock = lambda: 0
    """Epoch milliseconds, for stamps."""
    new_uuid: Callable[[], UUID] = uuid4
    """Make an id."""
    spawn: Callable[[Callable[[], Awaitable[None]]], None] = _without_owner
    """Start a task that the `Ohm` owns: cancelled when that closes, logged if it raises."""
    report: Callable[[DiagnosticSource], None] = lambda _source: None
    """Add a source of diagnostics, say about the suite's files; asked whenever someone reads `Ohm.diagnostics`."""
    audience: Literal["parent", "child"] = "parent"
    """The reader of the tools. A suite for both is built twice, with one memory; only the parent's gets events."""

    def kept(self, name: str, new: KeptT) -> KeptT:
        """Return what `memory` has under a name, else keep `new` there. Raises `TypeError` for another type."""
        kept = self.memory.setdefault(name, new)
        if not isinstance(kept, type(new)):
            msg = f"The memory of this suite has a {type(kept).__name__} under {name!r}."
            raise TypeError(msg)
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSuiteSpec:
    """A tool suite that a plugin offers: `parent` tools delegate, `child` tools are given to subagents, or `both`.

    `message_view` shows a message that the suite sent to the host, of a kind that it knows: (kind, text, theme).
    `redacts`: what its tools return and tell the host never holds a secret, whatever `subagents.redact` says.
    """

    name: str
    summary: str
    build: Callable[[SuiteContext], tuple[Tool, ...]]
    audience: Literal["parent", "child", "both"] = "parent"
    message_view: Callable[[str, str, Theme], str | None] | None = None
    redacts: bool = False
