"""The control inbox: commands that processes which share the file send each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.store import CommandState, SentCommand
from ohm_subagents.stores.sqlite.control_rows import Answered, Sent, Taken, Withdrawn

if TYPE_CHECKING:
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.store import WriterQueue
    from ohm_subagents.stores.sqlite.owners import Neighbours, Owner
    from ohm_subagents.stores.sqlite.reader import Reader
    from ohm_subagents.stores.sqlite.rows import Change
    from ohm_subagents.stores.sqlite.wakers import Waker

_UNTAKEN: Final = (
    "SELECT commands.id, tasks.id, command FROM commands CROSS JOIN tasks ON tasks.seq = task"
    " WHERE taken IS NULL AND ended_ms IS NULL AND {} = ? ORDER BY n"
)
_OF_OWNER: Final = _UNTAKEN.format("owner")
_OF_TASK: Final = _UNTAKEN.format("tasks.id")
_STATE: Final = (
    "SELECT reply, taken, owner, ended_ms FROM commands JOIN tasks ON tasks.seq = task WHERE commands.id = ?"
)


class SqliteControl:
    """Reads in the caller's thread; what changes goes through the queue of the writer (`ControlInbox`)."""

    def __init__(
        self, reader: Reader, neighbours: Neighbours, me: Owner, queue: WriterQueue[Change], waker: Waker
    ) -> None:
        self._reader = reader
        self._neighbours = neighbours
        self._me = me.id
        self._queue = queue
        self._waker = waker
        self.follow = waker.follow

    @property
    def look_s(self) -> float | None:
        return self._waker.look_s

    def send(self, sent: SentCommand) -> None:
        self._queue.put(Sent(sent=sent, sender=self._me))

    def state(self, command_id: str) -> CommandState:
        found = self._reader.found(_STATE, command_id)
        if found is None:  # nothing can be read now
            return CommandState(status="waiting")
        if not found:
            return CommandState(status="missed")
        reply, taken, owner, ended_ms = found[0]
        if reply is not None:
            return CommandState(status="answered", reply=reply)
        if taken is not None:
            return CommandState(status="taken" if self._neighbours.is_at_work(taken) else "lost")
        is_missed = ended_ms is not None or not self._neighbours.is_at_work(owner)
        return CommandState(status="missed" if is_missed else "waiting")

    def withdraw(self, command_id: str) -> None:
        self._queue.put(Withdrawn(command_id=command_id))

    def received(self) -> tuple[SentCommand, ...]:
        return self._untaken(_OF_OWNER, self._me)

    def take(self, command_id: str) -> None:
        self._queue.put(Taken(command_id=command_id, owner=self._me))

    def reply(self, command_id: str, reply: str) -> None:
        self._queue.put(Answered(command_id=command_id, reply=reply))

    def left(self, task_id: TaskId) -> tuple[SentCommand, ...]:
        return self._untaken(_OF_TASK, task_id)

    def _untaken(self, statement: str, value: object) -> tuple[SentCommand, ...]:
        found = self._reader.found(statement, value) or ()
        return tuple(SentCommand(id=each, task_id=task, command=command) for each, task, command in found)
