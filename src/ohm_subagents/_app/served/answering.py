"""Answers to requests of the tasks of a server: given to it, and asked for by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._app.served.link import Asked
from ohm_subagents._app.served.place import ServerError, unreachable
from ohm_subagents._orchestrator.run.answerers import Answerer
from ohm_subagents._orchestrator.run.answers import checked_answer
from ohm_subagents.contract.commands import AnswerRequest
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.wire.replies import reply_of
from ohm_subagents.contract.wire.serving import CommandAnswered, ExecuteCommand

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager

    from ohm_subagents._app.served.link import Link
    from ohm_subagents._orchestrator.answering import Answering
    from ohm_subagents._orchestrator.run.answerers import Fault
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.requests import Answer, AnsweredBy, Request
    from ohm_subagents.contract.result import Result


class ServedAnswering:
    """Has the methods of `Answering` and `Orphans`; a task that goes on with an answer goes on in the server."""

    def __init__(self, link: Link, kept: Answering) -> None:
        self._link = link
        self._kept = kept

    def open_requests(self) -> tuple[Request, ...]:
        """Return the open requests of the store, oldest first."""
        return self._kept.open_requests()

    async def answer(self, request_id: str, answer: Answer, by: AnsweredBy) -> Result[Request, OhmError]:
        """Give an answer to the server; the first one counts, and is stored when this returns."""
        checked = checked_answer(answer)
        if isinstance(checked, Err):
            return checked
        try:
            await self._link.open()
        except ServerError as failure:
            return Err(failure.error)
        request = await self._kept.asked(request_id)
        command = AnswerRequest(id=request_id, answer=checked.ok_value, by=by)
        asked = Asked(tell=lambda _task, _event: None)
        self._link.ask(asked, lambda n: ExecuteCommand(n=n, command=command))
        await asked.answered.wait()
        if not isinstance(asked.answer, CommandAnswered):
            return Err(unreachable("The connection to the server was lost before it took the answer."))
        match reply_of(asked.answer.reply, command):
            case CommandRejected(error=error):
                return Err(error)
            case _ if request is not None:
                return Ok(request)
            case _:
                raise AssertionError("A request that is answered was asked before, as the store shows.")

    def begin(self) -> None:
        """Do nothing: the connection asks `approvals` from its beginning."""

    def answering(
        self,
        callback: Callable[[Request], Awaitable[Answer | Fault | None]],
        by: AnsweredBy,
        attends: Callable[[tuple[TaskId, ...]], bool | Awaitable[bool]] | None = None,
    ) -> AbstractContextManager[None]:
        """Let the server ask a callback, as `Orphans.answering`, while this is open and there is a connection."""
        return self._link.attending(Answerer(callback, by, attends))
