"""A task that has settled, as whoever is told of it gets it. Public as `ohm_subagents.Delivery`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._views.reply_lines import ReplyLines, TaskLine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents.contract.envelope import Envelope
    from ohm_subagents.contract.ids import CallId, SessionId, TaskId
    from ohm_subagents.contract.task import Status, Task


class Delivery:
    """A task that has settled, for one consumer. Until it is acknowledged, it comes again after a restart."""

    __slots__ = ("_ack", "_envelope", "_max_chars", "sequence", "task")

    def __init__(
        self,
        sequence: int,
        task: Task,
        *,
        ack: Callable[[int], Awaitable[None]],
        envelope: Callable[[Task], Envelope],
        output_max_chars: int,
    ) -> None:
        """Use `Ohm.deliveries`."""
        self.sequence = sequence
        self.task = task
        self._ack = ack
        self._envelope = envelope
        self._max_chars = output_max_chars

    @property
    def task_id(self) -> TaskId:
        """The id of the task."""
        return self.task.id

    @property
    def session_id(self) -> SessionId:
        """The session of the task, within which deliveries come in the order in which tasks settled."""
        return self.task.session_id

    @property
    def call(self) -> CallId | None:
        """The program's call (`Ohm.begin`), or start of several tasks, that started the task; None without one."""
        return self.task.assignment.call

    @property
    def status(self) -> Status:
        """The end of the task: `succeeded`, `failed` or `cancelled`."""
        return self.task.status

    @property
    def envelope(self) -> Envelope:
        """The task.v1 envelope, with the whole answer."""
        return self._envelope(self.task)

    @property
    def text(self) -> str:
        """The result for a model, in a frame that says it is data; the answer is cut to `outputMaxChars`."""
        from ohm_subagents._views.framed_text import framed_text  # noqa: PLC0415  most runs deliver nothing

        line = TaskLine(task=self.task, status=self.task.status)
        reply = ReplyLines(op="status", backend=self.task.assignment.backend, lines=(line,))
        return framed_text(reply, output_max_chars=self._max_chars)

    async def ack(self) -> None:
        """Acknowledge it: once this returns, the consumer never gets it again. More than once is the same as once."""
        await self._ack(self.sequence)

    def __repr__(self) -> str:
        return f"Delivery(sequence={self.sequence}, task_id={self.task_id!r}, status={self.status!r})"
