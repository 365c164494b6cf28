"""Answers to requests of subagents: of tasks that run here, in another process, or nowhere any more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._config.approved_calls import digest_of
from ohm_subagents._orchestrator.admission.plan import plan
from ohm_subagents._orchestrator.answers_refused import (
    answer_taken,
    asked,
    not_going_on,
    not_open,
    not_stored,
    not_taken,
)
from ohm_subagents._orchestrator.call_context import current_context
from ohm_subagents._orchestrator.elsewhere import Elsewhere, not_taken_up
from ohm_subagents._orchestrator.run.answers import Answered, checked_answer, task_of
from ohm_subagents._orchestrator.run.approvals import reply_text
from ohm_subagents._orchestrator.run.requests import kept_requests
from ohm_subagents._orchestrator.warming import prepared
from ohm_subagents._plugins.stores import TaskQuery
from ohm_subagents._store.recovery import cut_off, outlives_owner
from ohm_subagents.contract.commands import AnswerRequest, Send
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.outcome import Cancelled
from ohm_subagents.contract.replies import AnswerReply, CommandRejected
from ohm_subagents.contract.requests import AnswerGiven, Approve, Deny, Text
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.task import apply
from ohm_subagents.contract.truncation import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.run.drive import Shared
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents._orchestrator.running import RunningTasks
    from ohm_subagents._plugins.stores import KeptRequests, Store
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.replies import Reply
    from ohm_subagents.contract.requests import AnsweredBy, Request
    from ohm_subagents.contract.task import Task

HINT: Final = 400
"""Characters that a model which goes on is told of arguments that were redacted or cut."""
READY_WITHIN_S: Final = 10.0
"""An answer is taken without knowing if a run can begin, where its backend and model take longer to open."""
DIED: Final = Cancelled(reason="The process that ran it ended while it waited for an answer.")


class Answering:
    """Finds the requests that are open anywhere in the store, and answers them."""

    def __init__(
        self,
        *,
        context: Callable[[], Result[AdmissionContext, OhmError]],
        running: RunningTasks,
        shared: Shared,
        store: Store,
    ) -> None:
        self._context = context
        self._pool = shared.pool
        self._running = running
        self._requests = shared.requests
        self._store = store
        self.elsewhere = Elsewhere(store)

    @property
    def kept(self) -> KeptRequests | None:
        """The part of the store that lets requests outlive their process; None if it has none."""
        return kept_requests(self._store)

    def open_requests(self) -> tuple[Request, ...]:
        """Return the open requests: those of tasks that run here, then those of other processes, oldest first."""
        return (*self._requests.open_requests(), *(one for task in self._not_here() for one in task.requests))

    def _not_here(self) -> Iterator[Task]:
        """Yield the tasks of other processes, and of those that have died, that wait for an answer."""
        if self.kept is None:
            return
        found = [one.ok_value.id for one in self._store.list(TaskQuery(status="running")) if isinstance(one, Ok)]
        for task_id in reversed(found):
            if self._running.get(task_id) is None and isinstance(task := self._store.get(task_id), Ok):
                yield task.ok_value

    def orphans(self, directory: Path) -> Iterator[Request]:
        """Yield the open requests of tasks of a directory, or below, that no process runs any more."""
        for task in self._not_here():
            works_in = "" if task.launch is None else task.launch.cwd
            is_below = Path(works_in).absolute().is_relative_to(directory.absolute())
            if works_in and is_below and not self._store.is_foreign(task.id):
                yield from task.requests

    async def reply(self, command: AnswerRequest) -> Reply:
        """Answer a request for a parent agent that knows its id, as it may cancel any task that it knows the id of.

        A subagent answers questions of those below it; that a call is made is for whoever is above all of them, or it
        could allow itself by another what it may not do.
        """
        refused = await self._not_its_own(command)
        answered = Err(refused) if refused is not None else await self.answer(command.id, command.answer, command.by)
        match answered:
            case Err(error):
                return CommandRejected(error=error, backend="task", op="answer", task_id=task_of(command.id))
            case Ok(request):
                found = self._store.get(request.task_id)
                if isinstance(found, Err):
                    error = found.err_value
                    return CommandRejected(error=error, backend="task", op="answer", task_id=request.task_id)
                return AnswerReply(task=found.ok_value)

    async def _not_its_own(self, command: AnswerRequest) -> OhmError | None:
        caller = current_context.get()
        if caller is None or caller.task_id is None:
            return None
        found = self._store.get(task_of(command.id))
        requests = found.ok_value.requests if isinstance(found, Ok) else ()
        request = next((one for one in requests if one.id == command.id), None)
        if request is None or caller.task_id not in request.path[:-1]:
            return await not_open(self._store, command.id)
        if request.kind == "question":
            return None
        return OhmError(
            code=ErrorCode.PERMISSION_DENIED,
            message=f"A subagent may answer a question, and not approve the call of '{request.tool}'.",
            advice="Whoever is above all of the tasks answers this request.",
        )

    async def asked(self, request_id: str) -> Request | None:
        """Return a request as it was asked, open or not; None if there is none."""
        found = self._store.get(task_of(request_id))
        return await asked(self._store, found.ok_value, request_id) if isinstance(found, Ok) else None

    async def answer(self, request_id: str, answer: object, by: AnsweredBy) -> Result[Request, OhmError]:
        """Answer a request; the first answer counts, and is stored when this returns.

        Where this process has taken up the run that waits for it, the answer is to the request that it makes again.
        """
        request_id = await self._requests.newest_id(request_id)
        kept = self.kept
        found = self._store.get(task_of(request_id))
        task = found.ok_value if isinstance(found, Ok) else None
        kept_open = () if task is None else task.requests
        request = self._requests.find(request_id) or next((one for one in kept_open if one.id == request_id), None)
        checked = checked_answer(answer, request)
        if isinstance(checked, Err):
            return checked
        given = Answered(checked.ok_value, by)
        if task is None or request is None or self._running.get(task.id) is not None or kept is None:
            is_answered = request is not None and self._requests.answer(request_id, given)
            await self._store.flush()
            return Ok(request) if request is not None and is_answered else Err(await not_open(self._store, request_id))
        if self._store.is_foreign(task.id):
            return await self._told(task, request, given, kept)
        return await self._adopted(task, request, given, kept)

    async def _told(
        self, task: Task, request: Request, given: Answered, kept: KeptRequests
    ) -> Result[Request, OhmError]:
        """Let the process that runs the task take the answer, or take over the task if that has died."""
        reply = await self.elsewhere.execute(AnswerRequest(id=request.id, answer=given.answer, by=given.by), task)
        waiting = self._waiting(request)
        if reply is None and waiting is not None:
            return await self._adopted(waiting, request, given, kept)
        if isinstance(reply, CommandRejected) and reply.error.code == ErrorCode.OWNED_ELSEWHERE:
            return Err(not_taken(request))
        found = self._store.get(task.id)
        taken = await answer_taken(self._store, found.ok_value, request.id) if isinstance(found, Ok) else None
        return Ok(request) if taken == given else Err(await not_open(self._store, request.id))

    def _waiting(self, request: Request) -> Task | None:
        """Return the task of a request as it is now; None if the request is not open any more."""
        found = self._store.get(request.task_id)
        task = found.ok_value if isinstance(found, Ok) else None
        return task if task is not None and any(one.id == request.id for one in task.requests) else None

    async def _adopted(
        self, task: Task, request: Request, given: Answered, kept: KeptRequests
    ) -> Result[Request, OhmError]:
        """Take over a task whose process has died, and let a run of this process go on with the answer.

        An answer that the process did not live to take was given first, and counts in place of this one.
        """
        first = self.elsewhere.first_answer(task, request.id)
        counting = given if first is None else Answered(first.answer, first.by)
        planned = self._planned(task, _told_text(task, request, counting))
        if isinstance(planned, Err):
            return planned
        told = AnswerGiven(request_id=request.id, answer=counting.answer, by=counting.by)
        goes_on = outlives_owner(task, now_ms=self._requests.clock())  # and asks again
        context, admitted = planned.ok_value
        if goes_on and not _reaches_run(admitted, task):
            unreached = OhmError(code=ErrorCode.OWNED_ELSEWHERE, message=not_taken_up(task))
            return Err(not_going_on(request, unreached))
        read, events = task, (told, *(() if goes_on else cut_off(task, DIED, answered=request.id)))
        for event in events:
            task = apply(task, event, at_ms=max(self._requests.clock(), task.updated_ms))
        is_ours = False
        with anyio.CancelScope(shield=True):  # a task that is ours must run, whoever stops waiting
            if not goes_on and admitted.route is None and given.by != "cancel":
                with anyio.move_on_after(READY_WITHIN_S):  # a run waits longer
                    ready = await prepared(admitted.backend, admitted.profile, admitted.spec.model, self._pool)
                    if isinstance(ready, Err):  # the answer would be spent on a run that fails at once
                        return Err(not_going_on(request, ready.err_value))
            is_ours = await kept.adopt(read, task, events)  # it is stored before the tool can run
        if not is_ours:
            is_taken = self._waiting(request) is None or self._store.is_foreign(task.id)
            return Err(await not_open(self._store, request.id) if is_taken else not_stored(request))
        for each in read.requests:
            self._requests.answerers.stop_asking(each.id)
        self._requests.keep_answer(request, counting)
        self._requests.remember(request, counting.answer)
        self._running.take_up(task, admitted, context, level=len(request.path), is_attached=goes_on)
        return Ok(request) if counting == given else Err(await not_open(self._store, request.id))

    async def runs_here(self, task_id: TaskId) -> RunningTask | None:
        """Return a task that runs here; one that waits for an answer and that no process runs is taken over first."""
        live, kept = self._running.get(task_id), self.kept
        if live is not None or kept is None or self._store.is_foreign(task_id):
            return live
        found = self._store.get(task_id)
        if isinstance(found, Ok) and found.ok_value.requests:
            task = found.ok_value
            await self._adopted(task, task.requests[0], Answered(Deny("the task was cancelled"), "cancel"), kept)
        return self._running.get(task_id)

    def _planned(self, task: Task, prompt: str) -> Result[tuple[AdmissionContext, Plan], OhmError]:
        match self._context():
            case Err() as unusable:
                return unusable
            case Ok(context):
                item = context.continuation(task, Send(id=task.id, prompt=prompt))
                planned = plan(item, context, prompt=prompt, caller=context.caller(), former=task)
                return Err(planned.err_value.error) if isinstance(planned, Err) else Ok((context, planned.ok_value))


def _reaches_run(admitted: Plan, task: Task) -> bool:
    """Return True if a plan is for the backend at which the open run of a task goes on."""
    return admitted.can_attach and task.launch is not None and admitted.backend == task.launch.backend


def _told_text(task: Task, request: Request, given: Answered) -> str:
    """Return the prompt of the run that goes on with the answer."""
    begin = (
        "You were interrupted while you waited for an answer. What the conversation shows as done is done; a call that "
        "it shows as failed since then was interrupted, too, and not refused."
    )
    if request.kind == "question":
        return f"{begin} You asked: {request.question}\nThe answer: {reply_text(given)}\nGo on with your task."
    call = f"Your call of '{request.tool}' with the arguments {_arguments(task, request)}"
    match given.answer:
        case Approve():
            return f"{begin} {call} is approved: make it now, exactly so, once. Then go on with your task."
        case Deny(reason=reason) | Text(text=reason):
            why = f": {reason.rstrip('.')}" if reason.strip() else ""
            return f"{begin} {call} was denied{why}. Go on with your task in another way, or say what you could not do."


def _arguments(task: Task, request: Request) -> str:
    """Return the arguments of a call as they were; where the request shows them redacted or cut, where they stand.

    Not every agent has the call in its conversation that it was killed with, so what is shown is said in any case.
    """
    try:
        shown = json.loads(request.arguments)
    except ValueError:  # cut
        shown = None
    cwd = "" if task.launch is None else task.launch.cwd
    is_whole = shown is not None and digest_of(request.tool, shown, Path(cwd)) == request.digest
    if is_whole:
        return request.arguments
    return f"that the conversation shows in whole, and this redacted or cut: {shortened(request.arguments, HINT)},"
