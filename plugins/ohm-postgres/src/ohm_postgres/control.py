"""The control inbox: commands that processes which share the database send each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_postgres import owners
from ohm_postgres.control_rows import CHANNEL, Answered, Sent, Taken, Withdrawn
from ohm_postgres.stored import from_text, is_at_work, process_of, to_text
from ohm_subagents.contract import TaskId
from ohm_subagents.store import CommandState, Followers, SentCommand

if TYPE_CHECKING:
    from ohm_postgres.listener import Listener
    from ohm_postgres.owners import Owner
    from ohm_postgres.reader import Reader
    from ohm_postgres.rows import Change
    from ohm_subagents.store import WriterQueue

_UNTAKEN: Final = (
    "SELECT c.id, t.id, c.command FROM ohm_commands c JOIN ohm_tasks t ON t.seq = c.task"
    " WHERE c.taken IS NULL AND t.ended_ms IS NULL AND {} = %s ORDER BY c.n"
)
_OF_OWNER: Final = _UNTAKEN.format("t.owner")
_OF_TASK: Final = _UNTAKEN.format("t.id")
_STATE: Final = (
    f"SELECT c.reply, c.taken, t.owner, t.ended_ms, {owners.COLUMNS} FROM ohm_commands c"
    " JOIN ohm_tasks t ON t.seq = c.task LEFT JOIN ohm_owners o ON o.id = coalesce(c.taken, t.owner) WHERE c.id = %s"
)


class PostgresControl:
    """Reads in the caller's thread; what changes goes through the queue of the writer (`ControlInbox`)."""

    look_s: float | None = None

    def __init__(self, reader: Reader, owner: Owner, queue: WriterQueue[Change], listener: Listener) -> None:
        self._reader = reader
        self._me = owner.id
        self._queue = queue
        followers = Followers(on_first=listener.start)
        self.follow = followers.follow
        listener.on(CHANNEL, followers.wake, payload=str(owner.id))

    def send(self, sent: SentCommand) -> None:
        self._queue.put(Sent(sent=sent, sender=self._me))

    def state(self, command_id: str) -> CommandState:
        found = self._reader.found(_STATE, (command_id,))
        if found is None:  # the database cannot be reached now
            return CommandState(status="waiting")
        if not found:
            return CommandState(status="missed")
        reply, taken, owner, ended_ms, *process, is_leased = found[0]
        if reply is not None:
            return CommandState(status="answered", reply=from_text(reply))
        lives = self._me == (owner if taken is None else taken) or is_at_work(process_of(*process), is_leased=is_leased)
        if taken is not None:
            return CommandState(status="taken" if lives else "lost")
        return CommandState(status="waiting" if lives and ended_ms is None else "missed")

    def withdraw(self, command_id: str) -> None:
        self._queue.put(Withdrawn(command_id=command_id))

    def received(self) -> tuple[SentCommand, ...]:
        return self._untaken(_OF_OWNER, self._me)

    def take(self, command_id: str) -> None:
        self._queue.put(Taken(command_id=command_id, owner=self._me))

    def reply(self, command_id: str, reply: str) -> None:
        self._queue.put(Answered(command_id=command_id, reply=reply))

    def left(self, task_id: TaskId) -> tuple[SentCommand, ...]:
        return self._untaken(_OF_TASK, to_text(task_id))

    def _untaken(self, statement: str, value: object) -> tuple[SentCommand, ...]:
        found = self._reader.found(statement, (value,)) or ()
        return tuple(
            SentCommand(id=each, task_id=TaskId(from_text(task)), command=from_text(command))
            for each, task, command in found
        )
