"""Commands in, replies out."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._concurrency.own_loop import OwnEventLoop
from ohm_subagents._concurrency.turnstile import Turnstile
from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.batch import background_after_ms, plan_all
from ohm_subagents._orchestrator.admission.context import label
from ohm_subagents._orchestrator.admission.plan import plan
from ohm_subagents._orchestrator.admission.refused_commands import refusing, unsendable
from ohm_subagents._orchestrator.asking import cancelled_text, signed
from ohm_subagents._orchestrator.call_context import current_program_call
from ohm_subagents._orchestrator.excerpt import abandoned, first_part, follow_up
from ohm_subagents._orchestrator.landing import LOOKUP, landed
from ohm_subagents._orchestrator.observe.call import CommandCall
from ohm_subagents._orchestrator.observe.observers import subscribed
from ohm_subagents._orchestrator.run.running_task import RunningTask
from ohm_subagents._orchestrator.waiting import WaitEnd, cancel_and_store, end_call, is_later, seconds, wait_answered
from ohm_subagents._plugins.backends.fallback import INTERACTIVE_SDK
from ohm_subagents._store.sessions import session_tasks
from ohm_subagents.contract.commands import AnswerRequest, Cancel, Command, GetTasks, LandWork, Send, Start, Wait
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.limits import Budget
from ohm_subagents.contract.replies import (
    Accepted,
    CancelReply,
    CommandRejected,
    ItemRejected,
    ItemReply,
    Missing,
    Reply,
    SendReply,
    StartReply,
    TasksReply,
)
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractContextManager

    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.answering import Answering
    from ohm_subagents._orchestrator.running import Admitted, RunningTasks
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.interface import Progress, SessionTask
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import SessionId
    from ohm_subagents.contract.task import Task

    Context = Callable[[], Result[AdmissionContext, OhmError]]


class Orchestrator:
    """The engine: carries out commands."""

    def __init__(self, *, context: Context, running: RunningTasks, store: Store, answering: Answering) -> None:
        self._context = context
        self._answering = answering
        self._elsewhere = answering.elsewhere
        self._running = running
        self.store = store
        self._own_loop = OwnEventLoop()
        self._turnstile = Turnstile()

    async def execute(
        self,
        command: Command,
        *,
        observer: Observer | None = None,
        progress: Progress | None = None,
        abort: anyio.Event | None = None,
    ) -> Reply:
        """Carry out a command; bad input is answered, never raised.

        `observer` and `progress` follow the tasks that the command starts or touches while it lasts. Setting `abort`,
        or cancelling the caller, cancels the tasks or the follow-up that it waits for; a `wait` only stops waiting.
        """
        self.check_open()
        call = CommandCall(observer, progress, abort, current_program_call())
        reply = await self._execute(signed(command), call)
        call.tell(reply)
        if command.op != "status":  # the answer has to survive the death of this process
            await self.store.flush()
        return reply

    async def _execute(self, command: Command, call: CommandCall) -> Reply:  # noqa: C901  one arm a command
        match self._context():
            case Err(error):
                return CommandRejected(error=error, backend=INTERACTIVE_SDK, op=command.op)
            case Ok(context):
                backend = label(context.config.subagent_backend, context.backends)
                if not context.config.features.subagents:
                    return CommandRejected(error=refusals.DISABLED, backend=backend, op=command.op)
                match command:
                    case Start():
                        return await self._start(call.completed(command), context, backend, call)
                    case GetTasks():
                        return TasksReply(items=self._seen(command.ids), backend=backend, op="status")
                    case Wait():
                        return await self._wait(command, backend, call)
                    case Send():
                        told: Reply | None = unsendable(command, self.store)
                        told = told or await self._elsewhere.carried_out(command, abort=call.abort)
                        return told or await self._send(command, context, call)
                    case Cancel():
                        return await self._elsewhere.carried_out(command) or await self._cancel(command, call)
                    case AnswerRequest():
                        return await self._answering.reply(command)
                    case LandWork():
                        return await landed(command, self.store, context=context, clock=self._running.clock)

    async def _start(self, command: Start, context: AdmissionContext, backend: str, call: CommandCall) -> Reply:
        if not self._turnstile.passes():
            await self._turnstile.turn()
            self.check_open()
        if command.background and not (command.by_program or context.config.subagents.async_start == "allow"):
            return CommandRejected(error=refusals.ASYNC_REFUSED, backend=backend, items=command.items)
        if (mistyped := refusals.mistyped("budget", command.budget, Budget)) is not None:
            return CommandRejected(error=mistyped, backend=backend, items=command.items)
        parent = command.parent
        caller = context.caller(command.max_depth, call.id) if parent is None else self._running.below(parent, call.id)
        if caller is None:
            return CommandRejected(error=refusals.not_running(f"{parent}"), backend=backend, items=command.items)
        plans = plan_all(command, context, caller=caller, is_busy=self._running.is_busy, store=self.store)
        admitted: list[Admitted] = []
        background = command.background

        def reply() -> StartReply:
            return StartReply(items=tuple(map(self._reply, admitted)), backend=backend, background=background)

        observers = call.observers(reply)
        caller = caller.of_start(command.budget, tasks=len(plans))
        notified = (*context.host.observers(), *call.lasting, *observers)
        admitted += [self._running.enrol(planned, notified, caller) for planned in plans]
        started = [entry for entry in admitted if isinstance(entry, RunningTask)]
        usual = context.config.subagents.task_max_concurrency if command.parallel else 1
        self._running.begin(started, workers=usual if command.limit is None else command.limit)
        try:
            if started and not background and not call.is_aborted:
                answered = partial(call.wait, partial(wait_answered, started), started)
                later_ms = background_after_ms(command, context.config.subagents)
                with self._running.in_line(started[0], partial(call.show, reply)):
                    background = await is_later(answered, than_ms=later_ms)
        finally:
            end_call(started, observers, background=background)
        return reply()

    async def _wait(self, command: Wait, backend: str, call: CommandCall) -> Reply:
        live = [one for each in dict.fromkeys(command.ids) if (one := self._running.get(TaskId(each))) is not None]
        aborted, end = False, WaitEnd(command, live, self.store, self._running.get)

        def reply() -> TasksReply:
            return TasksReply(items=self._seen(command.ids), backend=backend, op="wait")

        call.show(reply)
        with (
            subscribed((one.record.observers for one in live), (*call.visitors(reply), end)),
            anyio.move_on_after(seconds(command.timeout_ms)) as patience,
        ):
            aborted = await call.wait(end.wait, live)
        done, is_aborted = reply(), aborted and not patience.cancelled_caught
        ended = end.status(done.items, is_aborted=is_aborted)
        if ended == "timeout" and not patience.cancelled_caught and (left := end.left(done.items)) is not None:
            return self._elsewhere.left(command, left)
        return replace(done, wait_status=ended)

    async def _send(self, command: Send, context: AdmissionContext, call: CommandCall) -> Reply:
        match self.store.get(TaskId(command.id)):
            case Err(error):
                return CommandRejected(error=error, backend=LOOKUP, op="send", task_id=TaskId(command.id))
            case Ok(task):
                live, about = self._running.get(task.id), task.assignment
                if live is None and not task.is_terminal:
                    return self._elsewhere.left(command, task)
                refused = refusing(task, "send")
                if live is None and context.config.subagents.send_to_finished != "resume":
                    return refused(error=refusals.not_resumable(task), invocation=about.invocation)
                item = context.continuation(task, command) if live is None else live.asked.plan.item
                match plan(item, context, prompt=command.prompt, caller=context.caller(), former=task):
                    case Err(ItemRejected(error=error, profile=profile)):
                        return refused(error=error, invocation=about.invocation if profile else None)
                    case Ok(admitted):
                        if live is None:
                            return await self._resume(task, admitted, context, call)
                        return await self._follow_up(live, command.prompt, admitted, call)

    async def _follow_up(self, live: RunningTask, prompt: str, admitted: Plan, call: CommandCall) -> Reply:
        """Make the prompt the next run of a task that is not settled, or part of its open run."""
        message = live.inbox.send(prompt, admitted)
        reply = partial(follow_up, live, message)
        try:
            with subscribed([live.record.observers], call.visitors(reply)):
                call.show(reply)
                await call.wait(message.answered.wait, [live])
        finally:
            answer = reply() if message.answered.is_set else abandoned(live, message)
        return answer

    async def _resume(self, former: Task, admitted: Plan, context: AdmissionContext, call: CommandCall) -> Reply:
        """Start a new task in the session of a settled one, which itself never changes."""
        if self._running.is_busy(former.session_id):
            error = refusals.busy(former.session_id)
            return CommandRejected(error=error, backend=former.assignment.backend, op="send", task_id=former.id)

        def reply() -> SendReply:
            return follow_up(live, live.asked)

        observers = call.observers(reply)
        notified = (*context.host.observers(), *call.lasting, *observers)
        match self._running.enrol(Ok(admitted), notified, context.caller(call=call.id)):
            case ItemRejected(error=error):
                return CommandRejected(error=error, backend=former.assignment.backend, op="send", task_id=former.id)
            case RunningTask() as live:
                self._running.begin([live], workers=1)
                try:
                    await call.wait(partial(wait_answered, [live]), [live])
                finally:
                    end_call([live], observers)
                return reply()

    async def _cancel(self, command: Cancel, call: CommandCall) -> Reply:
        match self.store.get(TaskId(command.id)):
            case Err(error):
                return CommandRejected(error=error, backend=LOOKUP, op="cancel", task_id=TaskId(command.id))
            case Ok(task):
                live = await self._answering.runs_here(task.id)
                if live is None and not task.is_terminal:
                    return self._elsewhere.left(command, task)
                running = [] if live is None or task.is_terminal else [live]

                def reply() -> CancelReply:
                    newest = running[0].task if running else task
                    return CancelReply(task=newest, applied=bool(running), prior=task.status)

                with subscribed((one.record.observers for one in running), call.visitors(reply)):
                    for one in running:
                        await cancel_and_store(one, cancelled_text(command), self.store)
                call.show(reply)
                return reply()

    def _seen(self, ids: tuple[str, ...]) -> tuple[Accepted | Missing, ...]:
        return tuple(
            self._accepted(found.ok_value) if isinstance(found, Ok) else Missing(id=each, error=found.err_value)
            for each in ids
            for found in [self.store.get(TaskId(each))]
        )

    def _reply(self, entry: Admitted) -> ItemReply:
        return self._accepted(first_part(entry)) if isinstance(entry, RunningTask) else entry

    def _accepted(self, task: Task) -> Accepted:
        return Accepted(task=task, queue_position=self._running.position(task.id) if task.status == "queued" else None)

    async def read_session(self, session_id: SessionId) -> tuple[SessionTask, ...]:
        """Return the stored tasks of a session, oldest first; none if it is unknown."""
        self.check_open()
        return await session_tasks(self.store, session_id)

    def check_open(self) -> None:
        """Refuse to work for an `Ohm` that was left, and in a thread or an event loop that is not its own."""
        self._own_loop.check()

    async def cancel(self, task_id: TaskId) -> bool:
        """Cancel a task for the program that started it, whatever the configuration says by now."""
        asked = signed(Cancel(id=task_id), "program")
        live = await self._answering.runs_here(task_id)
        if live is None and (told := await self._elsewhere.carried_out(asked)) is not None:
            return isinstance(told, CancelReply) and told.applied
        if live is None or live.task.is_terminal:
            return False
        live.cancel(cancelled_text(asked))
        return True

    @asynccontextmanager
    async def watching(self, task_id: TaskId, observer: Observer) -> AsyncGenerator[tuple[Task | None, bool]]:
        """Follow one task; gives its state as it is at the start, None if it is unknown, and True if it runs here."""
        live = self._running.get(task_id)
        with subscribed([] if live is None else [live.record.observers], (observer,)):
            found = self.store.get(task_id)
            yield found.ok_value if isinstance(found, Ok) else None, live is not None

    def watching_all(self, observer: Observer) -> AbstractContextManager[None]:
        """Follow every task, also those that start meanwhile."""
        return self._running.watched(observer)

    def close(self, reason: str, *, is_store_ours: bool, detaches: bool) -> None:
        """Cancel what still runs, as `RunningTasks.close` says; the owner's task group then waits for it."""
        self._own_loop.close()
        self._running.close(reason, is_store_ours=is_store_ours, detaches=detaches)
