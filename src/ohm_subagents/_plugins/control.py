"""The contract of a control inbox: commands for tasks that another process runs."""

from __future__ import annotations

from typing import Literal, Protocol

from ohm_subagents._plugins.stores import Notifier, Store
from ohm_subagents._records import dataclass
from ohm_subagents.contract.ids import TaskId

CommandStatus = Literal["waiting", "taken", "answered", "lost", "missed"]
"""`waiting` for the process that runs the task, `taken` by it, `answered` by it, `lost` with it after it was taken, or
`missed`: it was withdrawn, or the task has settled, or its process has ended, before it was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentCommand:
    """A command for a task that another process runs."""

    id: str
    """Its id, which no other command has."""
    task_id: TaskId
    """The task that it is for."""
    command: str
    """The command, as a message of JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandState:
    """The state of a command that was sent."""

    status: CommandStatus
    """The stage that it has reached."""
    reply: str = ""
    """The reply, as a message of JSON, once it is answered."""


class ControlInbox(Notifier, Protocol):
    """The part of a store by which processes send each other commands, its attribute `control`.

    A command belongs to the task as it is then: it is never given to a later one with the same id. One that was sent
    and flushed survives the process that sent it; it goes with its task, or when it is withdrawn.
    """

    # For who sends

    def send(self, sent: SentCommand) -> None:
        """Keep a command for the process that runs the task."""
        ...

    def state(self, command_id: str) -> CommandState:
        """Return how far a command has come that was sent and flushed."""
        ...

    def withdraw(self, command_id: str) -> None:
        """Remove a command; who carries it out sees that it is `missed`, and waits for nothing more."""
        ...

    # For who runs the task

    def received(self) -> tuple[SentCommand, ...]:
        """Return the commands for unsettled tasks of this process that are not taken, oldest first."""
        ...

    def take(self, command_id: str) -> None:
        """Take a command to carry it out: nobody will do it again, even if this process dies over it."""
        ...

    def reply(self, command_id: str, reply: str) -> None:
        """Answer a command that was taken."""
        ...

    # For who takes over a task

    def left(self, task_id: TaskId) -> tuple[SentCommand, ...]:
        """Return the commands for an unsettled task that nobody has taken, oldest first."""
        ...


def control_of(store: Store) -> ControlInbox | None:
    """Return the control inbox of a store, if it has one."""
    found: ControlInbox | None = getattr(store, "control", None)
    return found
