"""The contract of tool suites. Everything here is public as `ohm_subagents.suite`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, TypeVar
from uuid import UUID, uuid4

import anyio
from pydantic import JsonValue

from ohm_subagents._plugins.suites.embedding import Host
from ohm_subagents._plugins.suites.image import Image, check_number
from ohm_subagents._plugins.suites.observer import Observer
from ohm_subagents._plugins.suites.settings import Settings
from ohm_subagents._views.cells import PREVIEW_LINES, preview_lines, printable_json, wrapped
from ohm_subagents._views.theme import PLAIN, Theme, View
from ohm_subagents.contract.commands import Command
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import Event, Recorded
from ohm_subagents.contract.ids import Clock, SessionId, TaskId
from ohm_subagents.contract.place import Place
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.replies import Reply
from ohm_subagents.contract.result import Result
from ohm_subagents.contract.task import Task
from ohm_subagents.redaction.redactor import Redaction

JsonObject: TypeAlias = dict[str, JsonValue]
EventHandler: TypeAlias = Callable[[JsonObject], Awaitable[JsonObject | None]]
"""Handle an event of the host's session; the answer goes back to the host."""
DiagnosticSource: TypeAlias = Callable[[], Iterable[Diagnostic]]
"""Return what is wrong now."""
UNMOUNTED: Final = "unmounted"
"""The event of our own that ends the registrations of a context."""
FORMS_ONLY: Final = Redaction()
MemoryT = TypeVar("MemoryT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call."""

    text: str
    """For the model."""
    details: JsonObject
    """For machines."""
    is_error: bool = False
    """The call itself failed."""
    has_failed: bool = False
    """A subagent that the call started has failed, while the call itself has not."""
    images: tuple[Image, ...] = ()
    """For a model that takes images, up to 10; `text` says what they are, by their labels, as others read it alone."""
    view: Callable[[View], str] | None = field(default=None, repr=False, compare=False)
    """Draw the result for people; None shows the text."""
    preview_max_lines: int = field(default=PREVIEW_LINES, repr=False, compare=False)
    """The lines of a preview."""

    def __post_init__(self) -> None:
        check_number(self.images)

    def render(self, *, expanded: bool = False, width: int = 120, theme: Theme = PLAIN) -> str:
        """Draw the result for a person, `width` terminal cells wide; nothing in it can drive the terminal."""
        if self.view is None:
            return "\n".join(wrapped(self.text, width))
        return self.view(View(expanded=expanded, width=width, theme=theme))

    def preview(self, *, width: int = 120) -> str:
        """Draw the newest lines of the collapsed view, below a note that counts the others."""
        return "\n".join(preview_lines(self.render(width=width), width=width, max_lines=self.preview_max_lines))


OnUpdate: TypeAlias = Callable[[ToolResult], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool."""

    arguments: JsonValue
    """The arguments as the model wrote them."""
    on_update: OnUpdate | None = None
    """Receives progress frames."""
    abort: anyio.Event | None = None
    """Set by the host to end the call with a result."""
    session_id: SessionId | None = None
    """The session of the subagent that calls; None for the parent agent."""
    redaction: Redaction = field(default=FORMS_ONLY, repr=False, compare=False)
    """Takes secrets out of what the tool itself writes or cuts; the result of a suite that redacts goes through the
    same one, which redacts no text twice. For another suite it knows common forms of secrets and homes, no values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of a suite, for any host."""

    name: str
    """The name that the model calls."""
    label: str
    """The name that people see."""
    description: str
    """For the model."""
    input_schema: Mapping[str, JsonValue]
    """The JSON schema of the arguments; others are refused before `execute`, unless the tool `checks_arguments`."""
    execute: Callable[[ToolCall], Awaitable[ToolResult]]
    """Carry out a call; never raises for bad input."""
    call_view: Callable[[JsonValue, Theme], str]
    """Draw a call in one line."""
    result_view: Callable[[ToolResult, View], str] | None = None
    """Draw a stored result, of which only text and details are left; None shows the text."""
    failure: Callable[[OhmError], ToolResult] | None = None
    """Make the result of a call that raised; None makes a task.v1 envelope."""
    prompt_snippet: str = ""
    """One line for the system prompt of an agent that may call the tool."""
    prompt_guidelines: tuple[str, ...] = ()
    """Rules for that prompt."""
    only_if_named: bool = False
    """Give the tool to a subagent only if its profile, or ohm.json, names it."""
    checks_arguments: bool = False
    """The tool refuses bad arguments itself, in its own words."""

    def render_call(self, arguments: JsonValue, *, theme: Theme = PLAIN) -> str:
        """Draw a call in one line for a person; the view gets arguments that cannot drive a terminal."""
        return self.call_view(printable_json(arguments), theme)

    def render_result(
        self, result: ToolResult, *, expanded: bool = False, width: int = 120, theme: Theme = PLAIN
    ) -> str:
        """Draw a result for a person, say one that a host has stored."""
        if self.result_view is None:
            return result.render(expanded=expanded, width=width, theme=theme)
        return self.result_view(result, View(expanded=expanded, width=width, theme=theme))


def named_tools(tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """Return the names of the tools that are given only to a profile that names them."""
    return tuple(name for name, tool in tools.items() if tool.only_if_named)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNeed:
    """A run that needs tools of a source."""

    task_id: TaskId
    """The task of the run."""
    gives: Callable[[str], bool]
    """Return True if the profile, under the rules of ohm.json, gives the tool of this name."""
    settled: Callable[[], Awaitable[None]]
    """Wait until the task has settled: what was opened for it alone may close then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """A source of child tools that are known only when a run needs them, because something outside has to be asked."""

    prefix: str
    """The beginning of the names of its tools, such as `mcp__calc__`. It is asked if a profile names a tool like this,
    or a pattern with `*` that could stand for one."""
    tools: Callable[[ToolNeed], Awaitable[Result[tuple[Tool, ...], OhmError]]]
    """Return its tools that `ToolNeed.gives`; called before each run that names some, while no clock of it counts.

    An `Err` costs the run these tools, and is a diagnostic of its task. Keep the list, and bound the wait for it.
    """


class Progress(Protocol):
    """Receives the steps of a command."""

    def step(self, snapshot: Callable[[], Reply], event: Event | None) -> None:
        """Receive an event, None for the first look; `snapshot` makes the reply as it would be now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTask:
    """A task of a session."""

    task: Task
    """The task."""
    history: tuple[Recorded, ...]
    """Its events, oldest first; of a long task perhaps only the newest."""


class Executor(Protocol):
    """The engine as a suite sees it.

    Every method raises `ClosedError` once the `Ohm` is closed, and `WrongEventLoopError` outside of its event loop.
    """

    async def execute(
        self,
        command: Command,
        *,
        observer: Observer | None = None,
        progress: Progress | None = None,
        abort: anyio.Event | None = None,
    ) -> Reply:
        """Carry out a command; never raises for bad input.

        `observer`, and after it `progress`, receive every event of the tasks that it starts or touches. Setting `abort`
        has the effect of cancelling the caller, except that there is a reply.
        """
        ...

    async def read_session(self, session_id: SessionId) -> tuple[SessionTask, ...]:
        """Return the stored tasks of a session, oldest first; none for an unknown session."""
        ...


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
    offer: Callable[[ToolSource], None] = lambda _source: None
    """Add a source of child tools, for a suite whose tools are not known when it is built."""
    audience: Literal["parent", "child"] = "parent"
    """The reader of the tools. A suite for both is built twice, with one memory; only the parent's gets events."""

    def remember(self, name: str, new: MemoryT) -> MemoryT:
        """Return what `memory` has under a name, else keep `new` there. Raises `TypeError` for another type."""
        kept = self.memory.setdefault(name, new)
        if not isinstance(kept, type(new)):
            msg = f"The memory of this suite has a {type(kept).__name__} under {name!r}."
            raise TypeError(msg)
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSuiteSpec:
    """A tool suite that a plugin offers."""

    name: str
    """The name in `suites` and `suiteOptions` of ohm.json."""
    summary: str
    """The purpose, in one line."""
    build: Callable[[SuiteContext], tuple[Tool, ...]]
    """Make the tools; called at each mounting."""
    audience: Literal["parent", "child", "both"] = "parent"
    """`parent` tools delegate, `child` tools are given to subagents, `both` are either."""
    message_view: Callable[[str, str, Theme], str | None] | None = None
    """Draw a message that the suite sent to the host, of a kind that it knows: (kind, text, theme)."""
    redacts: bool = False
    """Results and messages to the host never hold a secret, whatever `subagents.redact` says."""
    agents: Callable[[Place, Mapping[str, JsonValue]], Iterable[Profile]] | None = None
    """Read the agents of the suite's own files, by its options in ohm.json, for a list of all agents; None if it has
    none."""
