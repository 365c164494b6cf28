"""The contract of tool suites: what one is built from, and what it offers. Public as `ohm_subagents.suite`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, TypeVar
from uuid import UUID, uuid4

import anyio
from pydantic import JsonValue

from ohm_subagents._plugins.suites.embedding import Host
from ohm_subagents._plugins.suites.observer import Observer
from ohm_subagents._plugins.suites.settings import Settings
from ohm_subagents._plugins.suites.tool import JsonObject, Tool, ToolSource
from ohm_subagents._records import dataclass
from ohm_subagents._views.theme import Theme
from ohm_subagents.contract.commands import Command
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import Event, Recorded
from ohm_subagents.contract.ids import Clock, SessionId
from ohm_subagents.contract.place import Place
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.replies import Reply
from ohm_subagents.contract.task import Task
from ohm_subagents.redaction.redactor import Redaction

EventHandler: TypeAlias = Callable[[JsonObject], Awaitable[JsonObject | None]]
"""Handle an event of the host's session; the answer goes back to the host."""
DiagnosticSource: TypeAlias = Callable[[], Iterable[Diagnostic]]
"""Return what is wrong now."""
UNMOUNTED: Final = "unmounted"
"""The event of our own that ends the registrations of a context."""
MemoryT = TypeVar("MemoryT")


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
