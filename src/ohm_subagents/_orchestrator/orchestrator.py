"""Commands in, replies out."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents._concurrency.own_loop import OwnEventLoop
from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.batch import plan_all
from ohm_subagents._orchestrator.admission.context import label
from ohm_subagents._orchestrator.admission.plan import plan
from ohm_subagents._orchestrator.call_context import current_program_call
from ohm_subagents._orchestrator.excerpt import abandoned, first_part, follow_up
from ohm_subagents._orchestrator.observe.call import CommandCall
from ohm_subagents._orchestrator.observe.observers import subscribed
from ohm_subagents._orchestrator.run.live import LiveTask
from ohm_subagents._orchestrator.waiting import cancel_all, end_call, seconds, wait_answered, wait_settled_anywhere
from ohm_subagents._plugins.backends.fallback import INTERACTIVE_SDK
from ohm_subagents._plugins.suites.interface import SessionTask
from ohm_subagents.contract.commands import Cancel, GetTasks, Send, Start, Wait
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
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.running import Admitted, RunningTasks
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.interface import Progress
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.commands import Command
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import SessionId
    from ohm_subagents.contract.replies import WaitStatus
    from ohm_subagents.contract.task import Task

ASKED = "A caller asked for it."
LOOKUP = "task"
"""The `backend` of an envelope for an id without a task."""


class Orchestrator:
    """The engine: carries out commands."""

    def __init__(
        self, *, context: Callable[[], Result[AdmissionContext, OhmError]], running: RunningTasks, store: Store
    ) -> None:
        self._context = context
        self._running = running
        self._store = store
        self._own_loop = OwnEventLoop()

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
        reply = await self._execute(command, CommandCall(observer, progress, abort, current_program_call()))
        if command.op != "status":  # the answer has to survive the death of this process
            await self._store.flush()
        return reply

    async def _execute(self, command: Command, call: CommandCall) -> Reply:
        match self._context():
            case Err(error):
                return CommandRejected(error=error, backend=INTERACTIVE_SDK, op=command.op)
            case Ok(context):
                backend = label(context.config.subagent_backend, context.backends)
                if not context.config.features.subagents:
                    return CommandRejected(error=refusals.DISABLED, backend=backend, op=command.op)
                match command:
                    case Start():
                        return await self._start(call.options.complete(command), context, backend, call)
                    case GetTasks():
                        return TasksReply(items=self._seen(command.ids), backend=backend, op="status")
                    case Wait():
                        return await self._wait(command, backend, call)
                    case Send():
                        return await self._send(command, context, call)
                    case Cancel():
                        return await self._cancel(command, call)

    async def _start(self, command: Start, context: AdmissionContext, backend: str, call: CommandCall) -> Reply:
        if command.background and not (command.by_program or context.config.subagents.async_start == "allow"):
            return CommandRejected(error=refusals.ASYNC_REFUSED, backend=backend, items=command.items)
        mistyped = refusals.mistyped("budget", command.budget, Budget)
        if mistyped is not None:
            return CommandRejected(error=mistyped, backend=backend, items=command.items)
        parent = command.parent
        caller = context.caller(command.max_depth, call.id) if parent is None else self._running.below(parent, call.id)
        if caller is None:
            return CommandRejected(error=refusals.not_running(f"{parent}"), backend=backend, items=command.items)
        plans = plan_all(command, context, is_busy=self._running.is_busy)
        admitted: list[Admitted] = []

        def reply() -> StartReply:
            return StartReply(items=tuple(map(self._reply, admitted)), backend=backend, background=command.background)

        observers = call.observers(reply)
        caller = caller.child(command.budget, owner="the call")
        notified = (*context.host.observers(), *call.lasting, *observers)
        admitted += [self._running.enrol(planned, notified, caller) for planned in plans]
        started = [entry for entry in admitted if isinstance(entry, LiveTask)]
        usual = context.config.subagents.task_max_concurrency if command.parallel else 1
        self._running.begin(started, workers=usual if command.limit is None else command.limit)
        try:
            if started and not command.background and not call.is_aborted:
                with self._running.in_line(started[0], partial(call.show, reply)):
                    await call.wait(partial(wait_answered, started))
        finally:
            end_call(started, observers, background=command.background)
        return reply()

    async def _wait(self, command: Wait, backend: str, call: CommandCall) -> Reply:
        live = [one for each in dict.fromkeys(command.ids) if (one := self._running.get(TaskId(each))) is not None]
        aborted = False

        def reply() -> TasksReply:
            return TasksReply(items=self._seen(command.ids), backend=backend, op="wait")

        call.show(reply)
        with (
            subscribed((one.record.observers for one in live), call.visitors(reply)),
            anyio.move_on_after(seconds(command.timeout_ms)) as patience,
        ):
            aborted = await call.wait(partial(wait_settled_anywhere, live, command.ids, self._store))
        items = self._seen(command.ids)
        is_done = all(isinstance(item, Missing) or item.task.is_terminal for item in items)
        over: WaitStatus = "aborted" if aborted and not patience.cancelled_caught else "timeout"
        return TasksReply(items=items, backend=backend, op="wait", wait_status="completed" if is_done else over)

    async def _send(self, command: Send, context: AdmissionContext, call: CommandCall) -> Reply:
        match self._store.get(TaskId(command.id)):
            case Err(error):
                return CommandRejected(error=error, backend=LOOKUP, op="send", task_id=TaskId(command.id))
            case Ok(task):
                refused = partial(
                    CommandRejected,
                    op="send",
                    backend=task.assignment.backend,
                    task_id=task.id,
                    profile=task.assignment.profile,
                    description=task.assignment.description,
                )
                live = self._running.get(task.id)
                if self._store.is_foreign(task.id):
                    return refused(
                        error=refusals.elsewhere(task, self._store.owner(task.id)),
                        invocation=task.assignment.invocation,
                    )
                if live is None and context.config.subagents.send_to_finished != "resume":
                    return refused(error=refusals.not_resumable(task), invocation=task.assignment.invocation)
                item = context.continuation(task, command) if live is None else live.asked.plan.item
                match plan(item, context, prompt=command.prompt):
                    case Err(ItemRejected(error=error, profile=profile)):
                        return refused(error=error, invocation=task.assignment.invocation if profile else None)
                    case Ok(admitted):
                        if live is None:
                            return await self._resume(task, admitted, context, call)
                        return await self._follow_up(live, command.prompt, admitted, call)

    async def _follow_up(self, live: LiveTask, prompt: str, admitted: Plan, call: CommandCall) -> Reply:
        """Make the prompt the next run of a task that is not settled, or part of its open run."""
        message = live.inbox.send(prompt, admitted)
        reply = partial(follow_up, live, message)
        try:
            with subscribed([live.record.observers], call.visitors(reply)):
                call.show(reply)
                await call.wait(message.answered.wait)
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
        match self._running.enrol(Ok(admitted), notified, context.caller(call=call.id), former=former):
            case ItemRejected(error=error):
                return CommandRejected(error=error, backend=former.assignment.backend, op="send", task_id=former.id)
            case LiveTask() as live:
                self._running.begin([live], workers=1)
                try:
                    await call.wait(partial(wait_answered, [live]))
                finally:
                    end_call([live], observers)
                return reply()

    async def _cancel(self, command: Cancel, call: CommandCall) -> Reply:
        match self._store.get(TaskId(command.id)):
            case Err(error):
                return CommandRejected(error=error, backend=LOOKUP, op="cancel", task_id=TaskId(command.id))
            case Ok(task):
                live = self._running.get(task.id)
                if self._store.is_foreign(task.id):
                    return CommandRejected(
                        error=refusals.elsewhere(task, self._store.owner(task.id)),
                        backend=task.assignment.backend,
                        op="cancel",
                        task_id=task.id,
                    )
                running = [] if live is None or task.is_terminal else [live]

                def reply() -> CancelReply:
                    newest = running[0].task if running else task
                    return CancelReply(task=newest, applied=bool(running), prior=task.status)

                with subscribed((one.record.observers for one in running), call.visitors(reply)):
                    await cancel_all(running, ASKED, self._store)
                call.show(reply)
                return reply()

    def _seen(self, ids: tuple[str, ...]) -> tuple[Accepted | Missing, ...]:
        return tuple(
            self._accepted(found.ok_value) if isinstance(found, Ok) else Missing(id=each, error=found.err_value)
            for each in ids
            for found in [self._store.get(TaskId(each))]
        )

    def _reply(self, entry: Admitted) -> ItemReply:
        return self._accepted(first_part(entry)) if isinstance(entry, LiveTask) else entry

    def _accepted(self, task: Task) -> Accepted:
        return Accepted(task=task, queue_position=self._running.position(task.id) if task.status == "queued" else None)

    async def read_session(self, session_id: SessionId) -> tuple[SessionTask, ...]:
        """Return the stored tasks of a session, oldest first; none if it is unknown."""
        self.check_open()
        await checkpoint()
        tasks = self._store.session(session_id)
        return tuple([SessionTask(task=task, history=await self._store.history(task)) for task in tasks])

    def check_open(self) -> None:
        """Refuse to work for an `Ohm` that was left, and in a thread or an event loop that is not its own."""
        self._own_loop.check()

    def stop(self, task_id: TaskId) -> bool:
        """Cancel a task for the program that started it, whatever the configuration says by now."""
        live = self._running.get(task_id)
        if live is None or live.task.is_terminal:
            return False
        live.cancel(ASKED)
        return True

    @contextmanager
    def watching(self, task_id: TaskId, observer: Observer) -> Generator[tuple[Task | None, bool]]:
        """Follow one task; gives its state as it is at the start, None if it is unknown, and True if it runs here."""
        live = self._running.get(task_id)
        with subscribed([] if live is None else [live.record.observers], (observer,)):
            found = self._store.get(task_id)
            yield found.ok_value if isinstance(found, Ok) else None, live is not None

    def watching_all(self, observer: Observer) -> AbstractContextManager[None]:
        """Follow every task, also those that start meanwhile."""
        return self._running.watched(observer)

    def close(self, reason: str) -> None:
        """Cancel everything that still runs; the owner's task group then waits for it."""
        self._own_loop.close()
        self._running.close(reason)
