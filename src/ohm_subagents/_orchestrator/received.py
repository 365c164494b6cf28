"""Commands that other processes send to tasks of this one, carried out as its own are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._plugins.control import control_of
from ohm_subagents._store.following import Watch
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents._orchestrator.running import RunningTasks
    from ohm_subagents._plugins.control import ControlInbox, SentCommand
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.interface import Executor
    from ohm_subagents.contract.replies import Reply
    from ohm_subagents.contract.text import Redactor

    Spawn = Callable[[Callable[[], Awaitable[None]]], None]

_UNREADABLE: Final = OhmError(
    code=ErrorCode.OWNED_ELSEWHERE,
    message="The process that runs the task has an earlier release, which does not know the command.",
    advice="Act in that process, or wait for the task.",
)


class ReceivedCommands:
    """Looks for commands while tasks run here, and has each carried out once."""

    def __init__(
        self, executor: Executor, running: RunningTasks, store: Store, *, redaction: Callable[[], Redactor]
    ) -> None:
        self._executor = executor
        self._running = running
        self._store = store
        self._redaction = redaction
        self._busy = anyio.Event()
        self._open: dict[str, anyio.Event] = {}
        """The commands that are being carried out; the event is set when the sender waits no more, or is answered."""

    def begin(self, spawn: Spawn) -> None:
        """Look from the first task on that runs here."""
        control = control_of(self._store)
        if control is not None:
            self._running.on_begin = self._begun
            spawn(partial(self._look, control, spawn))

    def _begun(self) -> None:
        if not self._busy.is_set():
            self._busy.set()

    async def _look(self, control: ControlInbox, spawn: Spawn) -> None:
        while True:
            await self._busy.wait()
            with Watch(control) as watch:
                while self._running.count or self._open or control.look_s is None:
                    self._take_all(control, spawn)
                    await watch.news()
            self._busy = anyio.Event()

    def _take_all(self, control: ControlInbox, spawn: Spawn) -> None:
        for sent in control.received():
            if sent.id not in self._open and self._running.get(sent.task_id) is not None:
                self._open[sent.id] = anyio.Event()
                spawn(partial(self._carry_out, sent, control))
        for command_id, waits_no_more in self._open.items():
            if control.state(command_id).status == "missed":
                waits_no_more.set()

    async def _carry_out(self, sent: SentCommand, control: ControlInbox) -> None:
        from ohm_subagents._orchestrator.command_messages import read_command, written_reply  # noqa: PLC0415  few come

        try:
            command = read_command(sent.command, self._redaction)
            control.take(sent.id)
            if command is None:
                reply: Reply = CommandRejected(error=_UNREADABLE, backend=UNAVAILABLE, task_id=sent.task_id)
            else:
                reply = await self._executor.execute(command, abort=self._open[sent.id])
            control.reply(sent.id, written_reply(reply))
            await self._store.flush()
        finally:
            self._open.pop(sent.id).set()

    async def answered(self) -> None:
        """Wait until those that are being carried out are answered, so far as somebody waits for that."""
        for waits_no_more in tuple(self._open.values()):
            await waits_no_more.wait()
