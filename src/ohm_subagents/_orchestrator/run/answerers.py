"""Those who answer requests of subagents: callbacks that are asked at once, the first answer counts."""

from __future__ import annotations

from contextlib import contextmanager
from inspect import isawaitable
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from ohm_subagents._concurrency.faults import as_exception, error_line
from ohm_subagents._orchestrator.run.answers import Answered, checked_answer
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence

    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.requests import Answer, AnsweredBy, Request


class Fault(NamedTuple):
    """A callback that has given no answer: the request is denied for a `reason`, with advice if there is any."""

    reason: str
    advice: str = ""


class Answerer(NamedTuple):
    """Somebody who answers requests, of which tasks, and by which name."""

    callback: Callable[[Request], Awaitable[Answer | Fault | None]]
    by: AnsweredBy
    attends: Callable[[tuple[TaskId, ...]], bool | Awaitable[bool]] | None = None
    """Return True for the tasks from the root to one that is attended; None for all."""

    async def is_for(self, path: tuple[TaskId, ...]) -> bool:
        """Return True if it may answer requests of the last task of the path."""
        attends = self.attends is None or self.attends(path)
        return attends if isinstance(attends, bool) else await attends


class Answerers:
    """Those who answer requests now, and whom they are asked about."""

    def __init__(self, logger: Logger, approvals: Callable[[Request], Awaitable[Answer | None]] | None) -> None:
        self._logger = logger
        self._present = [] if approvals is None else [Answerer(approvals, "callback")]
        self._asking: dict[str, set[anyio.CancelScope]] = {}

    async def attending(self, path: tuple[TaskId, ...]) -> Sequence[Answerer]:
        """Return those who answer requests of a task; `path` has those above it, from the root, and itself."""
        return [one for one in self.present if await one.is_for(path)]

    @property
    def present(self) -> Sequence[Answerer]:
        """Those who are there."""
        return tuple(self._present)

    @contextmanager
    def joined(self, answerer: Answerer) -> Generator[None]:
        """Ask somebody about each request that is made while this is open, of the tasks that it attends."""
        self._present.append(answerer)
        try:
            yield
        finally:
            self._present.remove(answerer)

    async def asked(self, answerer: Answerer, request: Request) -> Answered | Fault | None:
        """Ask somebody; None if it leaves the request to others, or somebody else has answered meanwhile."""
        with anyio.CancelScope() as scope:
            asking = self._asking.setdefault(request.id, set())
            asking.add(scope)
            try:
                called = answerer.callback(request)
                if not isawaitable(called):
                    raise TypeError(_NOT_ASYNC)  # noqa: TRY301  it is told as whatever else goes wrong with it
                answer = await called
            except BaseException as exc:
                error = as_exception(exc)
                self._logger.exception("approvals.raised", request_id=request.id, exc_info=error)
                return Fault(f"the program that was asked failed ({error_line(error)})")
            finally:
                asking.discard(scope)
                if not asking:
                    self._asking.pop(request.id, None)
            if answer is None or isinstance(answer, Fault):
                return answer
            match checked_answer(answer, request):
                case Ok(sound):
                    return Answered(sound, answerer.by)
                case Err(invalid):
                    self._logger.error("approvals.invalid", request_id=request.id, reason=invalid.message)
                    told = f"{invalid.message} {invalid.advice}"
                    return Fault("the program that was asked gave no answer to it", told)
        return None

    def log_not_taken(self, request: Request, error: OhmError) -> None:
        """Log that an answer does not count, and why."""
        self._logger.warning("approvals.not_taken", request_id=request.id, reason=error.message)

    def stop_asking(self, request_id: str) -> None:
        """Cancel the callbacks that are still asked about a request: it is answered."""
        for scope in self._asking.pop(request_id, ()):
            scope.cancel()


_NOT_ASYNC: Final = "the callback is no async function: define it with 'async def'"
