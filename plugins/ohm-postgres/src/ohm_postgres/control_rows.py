"""Changes of the control inbox; each tells the process that waits for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_postgres.stored import to_text

if TYPE_CHECKING:
    from psycopg import Connection

    from ohm_subagents.store import SentCommand

CHANNEL: Final = "ohm_commands"
"""Whoever listens to it is told, by the number of its owner, that there is a command or a reply for it."""
_TELL: Final = f"SELECT pg_notify('{CHANNEL}', found.told::text) FROM found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A command for a task of another process."""

    sent: SentCommand
    sender: int

    def write(self, connection: Connection) -> None:
        """Add the command to its task, unless that has settled."""
        connection.execute(
            "WITH found AS (INSERT INTO ohm_commands (id, task, sender, command) SELECT %s, seq, %s, %s FROM ohm_tasks"
            " WHERE id = %s AND ended_ms IS NULL"
            f" RETURNING (SELECT owner FROM ohm_tasks WHERE seq = task) AS told) {_TELL}".encode(),
            (self.sent.id, self.sender, to_text(self.sent.command), to_text(self.sent.task_id)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """A command whose sender waits for it no more."""

    command_id: str

    def write(self, connection: Connection) -> None:
        """Remove the command."""
        removed = (
            "DELETE FROM ohm_commands WHERE id = %s RETURNING (SELECT owner FROM ohm_tasks WHERE seq = task) AS told"
        )
        connection.execute(f"WITH found AS ({removed}) {_TELL}".encode(), (self.command_id,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A command that its process carries out."""

    command_id: str
    owner: int

    def write(self, connection: Connection) -> None:
        """Note who has taken the command."""
        connection.execute("UPDATE ohm_commands SET taken = %s WHERE id = %s", (self.owner, self.command_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A command that was carried out."""

    command_id: str
    reply: str

    def write(self, connection: Connection) -> None:
        """Keep the reply for the sender."""
        kept = "UPDATE ohm_commands SET reply = %s WHERE id = %s RETURNING sender AS told"
        connection.execute(f"WITH found AS ({kept}) {_TELL}".encode(), (to_text(self.reply), self.command_id))


ControlChange = Sent | Withdrawn | Taken | Answered
