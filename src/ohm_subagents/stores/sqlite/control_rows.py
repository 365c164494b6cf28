"""Changes of the control inbox, a statement each; the caller holds the transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from ohm_subagents.store import SentCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A command for a task of another process."""

    sent: SentCommand
    sender: int

    def told(self, connection: sqlite3.Connection) -> list[tuple[int]]:
        """Return who runs the task."""
        return connection.execute("SELECT owner FROM tasks WHERE id = ?", (self.sent.task_id,)).fetchall()

    def write(self, connection: sqlite3.Connection) -> None:
        """Add the command to its task, unless that has settled."""
        connection.execute(
            "INSERT INTO commands (id, task, sender, command)"
            " SELECT ?, seq, ?, ? FROM tasks WHERE id = ? AND ended_ms IS NULL",
            (self.sent.id, self.sender, self.sent.command, self.sent.task_id),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """A command whose sender waits for it no more."""

    command_id: str

    def told(self, connection: sqlite3.Connection) -> list[tuple[int]]:
        """Return who runs the task."""
        owner = "SELECT owner FROM commands JOIN tasks ON tasks.seq = task WHERE commands.id = ?"
        return connection.execute(owner, (self.command_id,)).fetchall()

    def write(self, connection: sqlite3.Connection) -> None:
        """Remove the command."""
        connection.execute("DELETE FROM commands WHERE id = ?", (self.command_id,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A command that its process carries out."""

    command_id: str
    owner: int

    def write(self, connection: sqlite3.Connection) -> None:
        """Note who has taken the command."""
        connection.execute("UPDATE commands SET taken = ? WHERE id = ?", (self.owner, self.command_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A command that was carried out."""

    command_id: str
    reply: str

    def told(self, connection: sqlite3.Connection) -> list[tuple[int]]:
        """Return who has sent the command."""
        return connection.execute("SELECT sender FROM commands WHERE id = ?", (self.command_id,)).fetchall()

    def write(self, connection: sqlite3.Connection) -> None:
        """Keep the reply for the sender, unless that has withdrawn the command."""
        connection.execute("UPDATE commands SET reply = ? WHERE id = ?", (self.reply, self.command_id))


ControlChange = Sent | Withdrawn | Taken | Answered


def told(connection: sqlite3.Connection, changes: Iterable[object]) -> set[int]:
    """Return the owners who wait for one of these changes, before they are made."""
    waiting = [each.told(connection) for each in changes if isinstance(each, Sent | Withdrawn | Answered)]
    return {owner for found in waiting for (owner,) in found}
