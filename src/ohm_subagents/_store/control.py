"""A control inbox in memory: for programs in one process that share a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.control import CommandState, SentCommand
from ohm_subagents._store.following import Followers

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.contract.ids import TaskId

_MISSED: Final = CommandState(status="missed")


class MemoryControl:
    """The commands of a store in memory. `is_open` tells of a task whether it is kept and unsettled."""

    look_s = None

    def __init__(self, is_open: Callable[[TaskId], bool]) -> None:
        self._is_open = is_open
        self._followers = Followers()
        self.follow = self._followers.follow
        self._sent: dict[str, SentCommand] = {}
        self._states: dict[str, CommandState] = {}

    def send(self, sent: SentCommand) -> None:
        if self._is_open(sent.task_id):
            self._sent[sent.id], self._states[sent.id] = sent, CommandState(status="waiting")
            self._followers.wake()

    def state(self, command_id: str) -> CommandState:
        return self._states.get(command_id, _MISSED)

    def withdraw(self, command_id: str) -> None:
        self._forget(command_id)
        self._followers.wake()

    def received(self) -> tuple[SentCommand, ...]:
        return tuple(sent for sent in self._sent.values() if self._states[sent.id].status == "waiting")

    def take(self, command_id: str) -> None:
        if command_id in self._states:
            self._states[command_id] = CommandState(status="taken")

    def reply(self, command_id: str, reply: str) -> None:
        if command_id in self._states:
            self._states[command_id] = CommandState(status="answered", reply=reply)
            self._followers.wake()

    def left(self, task_id: TaskId) -> tuple[SentCommand, ...]:
        return tuple(sent for sent in self.received() if sent.task_id == task_id)

    def settle(self, task_id: TaskId) -> None:
        """Note that a task has settled: what nobody has taken is missed."""
        if self._sent and (missed := self.left(task_id)):
            for sent in missed:
                self._forget(sent.id)
            self._followers.wake()

    def _forget(self, command_id: str) -> None:
        self._sent.pop(command_id, None)
        self._states.pop(command_id, None)
