"""The messages between a program and the server of its tasks (`ohm serve`): one line of JSON each."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from pydantic import JsonValue

from ohm_subagents._records import dataclass
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.task import Task
from ohm_subagents.contract.wire.commands import WireCommand
from ohm_subagents.contract.wire.lenient import AnyEvent
from ohm_subagents.contract.wire.messages import WireMessage, WireObject
from ohm_subagents.contract.wire.replies import WireReply


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOhm(WireMessage):
    """The first message of a program: the `Ohm` that it wants to use. `OhmOpened` or `OhmRefused` is the answer."""

    versions: tuple[int, ...]
    """The versions of messages that the program reads and writes."""
    cwd: str
    """The directory that subagents work in."""
    config: WireObject | str | None = None
    """A configuration, or the path of a file, in place of the user's and the project's ohm.json."""
    env: dict[str, str] = field(default_factory=dict[str, str], hash=False, repr=False)
    """The environment of the program; the connection is for its user alone."""
    trust: bool = False
    """Trust the project."""
    profiles: tuple[Profile, ...] | None = None
    """The whole catalogue of profiles, in place of the files'; None for these."""
    mcp_servers: WireObject = field(default_factory=dict[str, JsonValue], hash=False, repr=False)
    """MCP servers besides those of ohm.json, each as one of its."""
    kind: Literal["open_ohm"] = "open_ohm"


@dataclass(frozen=True, slots=True, kw_only=True)
class OhmOpened(WireMessage):
    """The program may send commands."""

    speaks: int
    """The version of the messages from now on."""
    kind: Literal["ohm_opened"] = "ohm_opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class OhmRefused(WireMessage):
    """There is no such `Ohm`; the connection ends."""

    reason: str
    """The reason, in one sentence."""
    advice: str = ""
    """Advice: the next step of the client; empty for a server that is to be ended."""
    kind: Literal["ohm_refused"] = "ohm_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingMessage(WireMessage):
    """The base of the messages of one command, or of one observer."""

    n: int
    """The number of the command or the observer, given by the program and used once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteCommand(AskingMessage):
    """Carry out a command; `CommandAnswered` is the answer."""

    command: WireCommand
    """The command."""
    call: str | None = None
    """The id of the program's call that the command is part of; its tasks are told of until they settle."""
    is_left: bool = False
    """It is left, as `LeaveCommand` says, before it begins."""
    within: int | None = None
    """The number of the call of a function (`FunctionCalled`) that the command is part of."""
    kind: Literal["execute_command"] = "execute_command"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveCommand(AskingMessage):
    """Cancel what the command waits for, but not what a `wait` waits for; or stop to observe."""

    kind: Literal["leave_command"] = "leave_command"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveTasks(AskingMessage):
    """Tell of one task from now on, or of all; `TasksObserved` is the answer."""

    task_id: str | None = None
    """The id of the task; None for all."""
    kind: Literal["observe_tasks"] = "observe_tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksObserved(AskingMessage):
    """The answer to `ObserveTasks`."""

    task: Task | None = None
    """The task as it is now; None for an unknown one, and for all."""
    is_here: bool = False
    """The task runs in this server, and its events are told."""
    kind: Literal["tasks_observed"] = "tasks_observed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandShown(AskingMessage):
    """The reply to a command as it would be now; what is told of its tasks changes it."""

    reply: WireReply
    """The reply."""
    kind: Literal["command_shown"] = "command_shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswered(AskingMessage):
    """The reply to a command."""

    reply: WireReply
    """The reply."""
    kind: Literal["command_answered"] = "command_answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTold(AskingMessage):
    """An event of a task of a command, or of a task that is observed."""

    task_id: str
    """The id of the task."""
    at_ms: int
    """The time, in epoch milliseconds."""
    event: AnyEvent
    """The event."""
    task: Task | None = None
    """The task after the event, the first time and the last; in between it is the fold of its events."""
    kind: Literal["event_told"] = "event_told"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLeft(AskingMessage):
    """A task goes on in another process, if at all; nothing more is told of it."""

    task_id: str
    """The id of the task."""
    kind: Literal["task_left"] = "task_left"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskStatus(WireMessage):
    """Tell about the server, in place of `OpenOhm`; `ServerStatus` is the answer."""

    stops: bool = False
    """End the server, too."""
    kind: Literal["ask_status"] = "ask_status"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus(WireMessage):
    """The state of the server."""

    pid: int
    """The id of its process."""
    release: str
    """Its release of ohm-subagents."""
    clients: int
    """The programs that are connected."""
    tasks: int
    """The tasks that run, wait in the queue, or wait for an answer."""
    kind: Literal["server_status"] = "server_status"
