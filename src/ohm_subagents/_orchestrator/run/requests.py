"""The requests of subagents that wait for an answer: who is asked, whose answer counts, and for how long."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from ohm_subagents._concurrency.faults import error_line
from ohm_subagents._config.approved_calls import ApprovedCall
from ohm_subagents._orchestrator.queued_prompt import LazyEvent
from ohm_subagents._orchestrator.run.answerers import Answerer, Answerers, Fault
from ohm_subagents._orchestrator.run.answers import Answered
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised
from ohm_subagents.contract.requests import Answer, AnswerAwaited, AnswerGiven, Approve, Deny
from ohm_subagents.redaction.redactor import Redaction

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from ohm_subagents._config.approved_calls import ApprovedCalls
    from ohm_subagents._config.subagents import Unattended
    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents._plugins.stores import KeptRequests, Store
    from ohm_subagents.contract.ids import Clock, TaskId
    from ohm_subagents.contract.requests import AnsweredBy, Request
    from ohm_subagents.contract.text import Redactor

AGAIN_WITHIN_S: Final = 10.0
"""The time that an answer waits for the run that it is for to ask again."""
EXPIRY_MS: Final = 600_000
"""The time that a request waits for an answer, where the configuration does not say it."""


@dataclass(slots=True)
class _Open:
    """A request that is open, as its task shows it."""

    request: Request
    record: TaskRecord
    given: Answered | None = None
    answered: LazyEvent = field(default_factory=LazyEvent)

    @property
    def is_open(self) -> bool:
        """Return True until it is answered, its run has ended, or its task is left to another process."""
        return not self.record.is_left and any(one.id == self.request.id for one in self.record.task.requests)


@dataclass(slots=True)
class _AskedAgain:
    """A request whose process has ended, and what the run that goes on asks in its place; None until it does."""

    former: Request
    request: Request | None = None
    is_known: LazyEvent = field(default_factory=LazyEvent)


@dataclass(frozen=True, slots=True)
class _Approved:
    """Calls that were approved for more than once: `task_id` for a task and those below it, None for all."""

    task_id: TaskId | None
    digest: str


class Requests:
    """Keeps the requests of the tasks that run here open until each is answered once.

    Fields:
        expiry_ms: the time after which a request is denied; None for never.
        unattended: what becomes of a call that rules ask about where nobody is there; None for what the rules say.
        redactor: gives what takes the secrets out of the texts of a request.
        answerers: those who are asked.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        logger: Logger,
        spawn: Callable[[Callable[[], Awaitable[None]]], None],
        always: ApprovedCalls,
        approvals: Callable[[Request], Awaitable[Answer | None]] | None = None,
    ) -> None:
        self.clock = clock
        self.expiry_ms: int | None = EXPIRY_MS
        self.unattended: Unattended | None = None
        self.redactor: Callable[[], Redactor] = Redaction
        self._always = always
        self._store = store
        self._logger = logger
        self._spawn = spawn
        self.answerers = Answerers(logger, approvals)
        self._open: dict[str, _Open] = {}
        self._approved: set[_Approved] = set()
        self._kept: dict[tuple[TaskId, str], Answered] = {}
        self._again: dict[str, _AskedAgain] = {}

    def configure(
        self, expiry_ms: int | None, unattended: Unattended | None, *, redactor: Callable[[], Redactor]
    ) -> None:
        """Set what holds for requests from now on."""
        self.expiry_ms, self.unattended, self.redactor = expiry_ms, unattended, redactor

    # For runs

    def is_approved(self, path: tuple[TaskId, ...], digest: str) -> bool:
        """Return True if the same call was approved for a task of the path, or for all, by another process too."""
        if any(_Approved(task_id, digest) in self._approved for task_id in (None, *path)):
            return True
        return self._always.has(digest)

    def keep_answer(self, request: Request, given: Answered) -> None:
        """Keep an answer for the run that goes on in place of the one which asked: it makes the same call once more."""
        self._kept[request.task_id, request.digest] = given

    def drop_answers(self, task_id: TaskId) -> None:
        """Forget such answers once that run is over: a later run that makes the same call asks anew."""
        for key in [each for each in self._kept if each[0] == task_id]:
            del self._kept[key]
        for one in [each for each in self._again.values() if each.former.task_id == task_id and each.request is None]:
            del self._again[one.former.id]
            one.is_known.set()

    def expect_again(self, request: Request) -> None:
        """Let an answer to a request of a process that has ended count for what the run asks in its place."""
        self._again[request.id] = _AskedAgain(request)

    async def newest_id(self, request_id: str) -> str:
        """Return the id under which a request is asked by now; waits for a run that is to ask it again."""
        if (again := self._again.get(request_id)) is None:
            return request_id
        if not again.is_known.is_set:
            with anyio.move_on_after(AGAIN_WITHIN_S):
                await again.is_known.wait()
        return request_id if again.request is None else again.request.id

    def _note_again(self, request: Request) -> None:
        for one in self._again.values():
            if _same_call(one.former) == _same_call(request) and one.request is None:
                one.request = request
                one.is_known.set()
                return

    def kept_answer(self, task_id: TaskId, digest: str) -> Answered | None:
        """Take such an answer, which counts once; None if there is none."""
        return self._kept.pop((task_id, digest), None)

    def remember(self, request: Request, answer: Answer) -> None:
        """Let an approval hold for as long as its scope says."""
        if isinstance(answer, Approve) and request.kind == "tool" and answer.scope != "call":
            self._approved.add(_Approved(request.task_id if answer.scope == "task" else None, request.digest))
            if answer.scope == "always":
                self._spawn(partial(self._keep_always, request))

    async def _keep_always(self, request: Request) -> None:
        call = ApprovedCall(
            digest=request.digest, tool=request.tool, arguments=request.arguments, approved_ms=self.clock()
        )
        try:
            await to_thread.run_sync(self._always.add, call)
        except OSError as error:  # it holds as long as this process
            self._logger.warning("approval.not_kept", request_id=request.id, reason=error_line(error))

    async def ask(self, record: TaskRecord, request: Request) -> Answered:
        """Hold a request open until it is answered, has expired, or its run is cancelled.

        It is stored before anybody is asked, and so is its answer before this returns.
        """
        record.add(AnswerAwaited(request=request))
        shown = next((one for one in record.task.requests if one.id == request.id), request)  # without secrets
        waiting = self._open[request.id] = _Open(shown, record)
        self._note_again(shown)
        try:
            await self._store.flush()
            for answerer in await self.answerers.attending(request.path):
                self._spawn(partial(self._consult, waiting, answerer))
            with anyio.move_on_after(self.left_s(request)):
                await waiting.answered.wait()
            given = waiting.given or self._close(waiting, Deny(_EXPIRED), "expiry")
            await self._store.flush()
            return given
        finally:
            del self._open[request.id]
            self.answerers.stop_asking(request.id)
            if waiting.given is None:
                self._close(waiting, Deny(_OVER), "cancel")

    def left_s(self, request: Request) -> float | None:
        """Return the seconds until a request expires; None for never."""
        return None if request.expires_ms is None else max(0, request.expires_ms - self.clock()) / 1000

    async def _consult(self, waiting: _Open, answerer: Answerer) -> None:
        match await self.answerers.asked(answerer, waiting.request) if waiting.is_open else None:
            case Answered() as answered:
                self._close_once(waiting, *answered)
            case Fault() as fault:
                self._close_fault(waiting, fault.reason, fault.advice)
            case None:
                pass

    # For those who answer

    def put_to(self, answerer: Answerer, roots: Collection[TaskId] | None = None) -> None:
        """Ask somebody who comes late about each request that is open here, of these tasks and those below; of all."""
        for waiting in self._open.values():
            if roots is None or waiting.request.path[0] in roots:
                self._spawn(partial(self._consult_if_attending, waiting, answerer))

    async def _consult_if_attending(self, waiting: _Open, answerer: Answerer) -> None:
        if await answerer.is_for(waiting.request.path):
            await self._consult(waiting, answerer)

    def open_requests(self) -> tuple[Request, ...]:
        """Return the requests that are open here, oldest first."""
        return tuple(one.request for one in self._open.values() if one.is_open)

    def find(self, request_id: str) -> Request | None:
        """Return a request that is open here; None if there is none of this id."""
        waiting = self._open.get(request_id)
        return waiting.request if waiting is not None and waiting.is_open else None

    def answer(self, request_id: str, given: Answered) -> bool:
        """Answer a request of a task that runs here; return False if it is not open, for the first answer counts."""
        waiting = self._open.get(request_id)
        if waiting is None or not waiting.is_open:
            return False
        self._close(waiting, *given)
        return True

    def _close_fault(self, waiting: _Open, reason: str, advice: str = "") -> None:
        """Deny a request of which a callback makes nothing, and tell it in a diagnostic of the task."""
        if waiting.is_open:
            message = f"The request '{waiting.request.id}' was denied: {reason}."
            told = Diagnostic(subject="requests", message=message, advice=advice)
            waiting.record.add(DiagnosticRaised(diagnostic=told))
            self._close(waiting, Deny(reason), "fault")

    def _close_once(self, waiting: _Open, answer: Answer, by: AnsweredBy) -> None:
        if waiting.is_open:
            self._close(waiting, answer, by)

    def _close(self, waiting: _Open, answer: Answer, by: AnsweredBy) -> Answered:
        request, given = waiting.request, Answered(answer, by)
        waiting.given = given
        waiting.record.add(AnswerGiven(request_id=request.id, answer=answer, by=by))
        self.remember(request, answer)
        waiting.answered.set()
        return given


def _same_call(request: Request) -> tuple[str, ...]:
    """Return what is equal for a call that is asked about again; what lands has no call, and may be other work."""
    return (request.task_id, request.digest, "" if request.call_id else request.arguments)


_EXPIRED: Final = "nobody answered in time"
_OVER: Final = "the run is over"


def kept_requests(store: Store) -> KeptRequests | None:
    """Return the part of a store that lets requests outlive their process, if it has one."""
    found: KeptRequests | None = getattr(store, "requests", None)
    return found
