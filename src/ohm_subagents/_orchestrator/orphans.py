"""Requests whose process has ended: whoever answers for the program is asked about them, and their tasks go on."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._orchestrator.run.answerers import Answerer, Fault
from ohm_subagents._orchestrator.run.answers import Answered
from ohm_subagents._store.following import Watch
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.requests import Deny
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from pathlib import Path

    from ohm_subagents._orchestrator.answering import Answering
    from ohm_subagents._orchestrator.run.requests import Requests
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.requests import Answer, AnsweredBy, Request

FOR_ALL: Final[frozenset[AnsweredBy]] = frozenset({"callback", "host", "program"})
"""Those who answer for the whole program; a terminal, an editor and a client are there for one call of their own."""


class Orphans:
    """The open requests of tasks that no process runs any more, and that work in the directory of the `Ohm` or below.

    Those of other directories belong to other programs.
    """

    def __init__(
        self,
        answering: Answering,
        requests: Requests,
        spawn: Callable[[Callable[[], Awaitable[None]]], None],
        *,
        cwd: Callable[[], Path],
    ) -> None:
        self._answering = answering
        self._requests = requests
        self._answerers = requests.answerers
        self._cwd = cwd
        self._spawn = spawn

    def begin(self) -> None:
        """Ask those who are there as the `Ohm` is opened, for as long as it is."""
        for answerer in self._answerers.present:
            self._spawn(partial(self._ask_about_all, answerer, anyio.CancelScope()))

    @contextmanager
    def answering(
        self,
        callback: Callable[[Request], Awaitable[Answer | Fault | None]],
        by: AnsweredBy,
        attends: Callable[[tuple[TaskId, ...]], bool | Awaitable[bool]] | None = None,
    ) -> Generator[None]:
        """Ask a callback about each request that is made while this is open, and about each orphan."""
        answerer = Answerer(callback, by, attends)
        with self._answerers.joined(answerer):
            if by not in FOR_ALL:
                yield
                return
            scope = anyio.CancelScope()
            self._spawn(partial(self._ask_about_all, answerer, scope))
            try:
                yield
            finally:
                scope.cancel()

    async def _ask_about_all(self, answerer: Answerer, scope: anyio.CancelScope) -> None:
        """Ask about the orphans that are there, and about those of processes that end later."""
        kept = self._answering.kept
        if kept is None:
            return
        asked: set[str] = set()
        with scope, Watch(kept) as watch:
            async with anyio.create_task_group() as group:
                while True:
                    for request in self._answering.orphans(self._cwd()):
                        if request.id not in asked and await answerer.is_for(request.path):
                            asked.add(request.id)
                            group.start_soon(self._ask, answerer, request)
                    await watch.news()

    async def _ask(self, answerer: Answerer, request: Request) -> None:
        with anyio.move_on_after(self._requests.left_s(request)):
            answered = await self._answerers.asked(answerer, request)
            if isinstance(answered, Fault):
                answered = Answered(Deny(answered.reason), "fault")
            if answered is not None:
                self._spawn(partial(self._give, request, answered))

    async def _give(self, request: Request, answered: Answered) -> None:
        given = await self._answering.answer(request.id, answered.answer, answered.by)
        if isinstance(given, Err) and given.err_value.code != ErrorCode.REQUEST_CLOSED:  # else another was faster
            self._answerers.log_not_taken(request, given.err_value)
