"""The methods of an `Ohm` that call tools, and that start and find tasks."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Unpack, overload

from anyio.lowlevel import checkpoint

from ohm_subagents._app.answers import answer_of, envelope_of
from ohm_subagents._app.deliveries import Deliveries, named_consumer
from ohm_subagents._app.handle import Handle, one_item, start_item
from ohm_subagents._app.options import CallOptions, RunOptions, background_after, overrides_of, parent_of, task_options
from ohm_subagents._plugins.suites.tool import ToolCall, ToolResult
from ohm_subagents._tools.tool import as_json, unknown_tool
from ohm_subagents.contract.commands import LandWork, Start, StartItem
from ohm_subagents.contract.ids import CallId, TaskId
from ohm_subagents.contract.replies import AnswerReply, CommandRejected
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
    from contextlib import AbstractContextManager

    import anyio
    from pydantic import JsonValue

    from ohm_subagents._app.calls import Call
    from ohm_subagents._app.engine import Engine
    from ohm_subagents._app.mailbox import Mailbox
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.tool import OnUpdate, Tool
    from ohm_subagents.contract.envelope import DataT, Envelope
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import TaskEvent
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.requests import Answer, AnsweredBy, Request
    from ohm_subagents.contract.task import Task


class Delegation:
    """Call tools through an open engine, and start and find tasks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The mounted tools by name, for any agent framework."""
        return self._engine.assembly.mounted.parent.tools

    @overload
    async def run(
        self,
        profile: str | Profile,
        prompt: str,
        *,
        result_type: type[DataT],
        observer: Observer | None = None,
        **options: Unpack[RunOptions],
    ) -> Result[Envelope[DataT], OhmError]: ...
    @overload
    async def run(
        self,
        profile: str | Profile,
        prompt: str,
        *,
        result_type: None = None,
        observer: Observer | None = None,
        **options: Unpack[RunOptions],
    ) -> Result[Envelope, OhmError]: ...
    async def run(
        self,
        profile: str | Profile,
        prompt: str,
        *,
        result_type: type[DataT] | None = None,
        observer: Observer | None = None,
        **options: Unpack[RunOptions],
    ) -> Result[Envelope[DataT], OhmError]:
        """Run one task and return its whole answer. `Err` is a refusal, a failure or a cancellation.

        Nothing is lost then: `error.task_id` names the task, and `task(...)` and `envelope(...)` hold what it did.
        `profile` is an id of the roster, or a profile of your own. With a `result_type` that pydantic knows, say a
        model, a dataclass or `list[str]`, the subagent has to hand in such an answer, and `data` of the envelope is it.
        After `background_after_ms` it is `task_wait_timeout`: the task goes on, and `handle(error.task_id)` finds it.
        """
        _, command = self._start_of(profile, prompt, options, result_type)
        match one_item(await self._engine.orchestrator.execute(command, observer=observer)):
            case Ok(task):
                return answer_of(task, result_type)
            case Err() as refused:
                return refused

    @overload
    async def start(
        self, profile: str | Profile, prompt: str, *, result_type: type[DataT], **options: Unpack[RunOptions]
    ) -> Handle[DataT]: ...
    @overload
    async def start(
        self, profile: str | Profile, prompt: str, *, result_type: None = None, **options: Unpack[RunOptions]
    ) -> Handle: ...
    async def start(
        self,
        profile: str | Profile,
        prompt: str,
        *,
        result_type: type[DataT] | None = None,
        **options: Unpack[RunOptions],
    ) -> Handle[DataT]:
        """Start one task in the background, whatever `asyncStart` says: that is about models, this is your program.

        A refused start gives a handle too; its `wait` answers why. The task is cancelled when this `Ohm` closes, if it
        does not wait for an answer that may come later (`Ohm.open`).
        """
        item, command = self._start_of(profile, prompt, options, result_type)
        started = one_item(await self._engine.orchestrator.execute(replace(command, background=True)))
        engine = self._engine
        return Handle(engine.orchestrator, started, child_tool=engine.child_tool, item=item, result_type=result_type)

    def _start_of(
        self, profile: str | Profile, prompt: str, options: RunOptions, result_type: type[DataT] | None
    ) -> tuple[StartItem, Start]:
        overrides = overrides_of(options, result_type, self._engine.child_tool)
        item = start_item(profile, prompt, options, overrides)
        return item, Start(
            items=(item,),
            by_program=True,
            background_after_ms=background_after(options),
            budget=options.get("budget"),
            parent=parent_of(options),
        )

    async def call(
        self,
        name: str,
        arguments: object,
        *,
        on_update: OnUpdate | None = None,
        abort: anyio.Event | None = None,
    ) -> ToolResult:
        """Call a mounted tool with arguments as a model wrote them; never raises for bad input.

        `on_update` gets progress frames. Setting `abort` ends the call with a result that says so; what it waits for is
        cancelled, except by a `wait`. Cancelling the caller does the same without a result.
        """
        self._engine.orchestrator.check_open()
        return await self._called(name, as_json(arguments), on_update, abort)

    async def begin(
        self,
        name: str,
        arguments: object,
        *,
        call_id: str | None = None,
        on_update: OnUpdate | None = None,
        result_type: type[object] | None = None,
        **options: Unpack[CallOptions],
    ) -> Call:
        """Begin the call of a mounted tool and return at once; never raises for bad arguments.

        It goes on whether anybody waits for it or not, and ends with this `Ohm`. `call_id` is an id of your own, say of
        a request: where there is a call with this id, that is returned, and nothing begins. `options` and `result_type`
        are about every task that the call starts; a `Profile` may stand in the arguments where an id does.
        """
        self._engine.orchestrator.check_open()
        plain, said = task_options(arguments, options, result_type, self._engine.child_tool)
        given = as_json(plain)
        await checkpoint()
        return self._engine.calls.begin(lambda abort: self._called(name, given, on_update, abort), call_id, said)

    async def _called(
        self, name: str, arguments: JsonValue, on_update: OnUpdate | None, abort: anyio.Event | None
    ) -> ToolResult:
        tool = self.tools.get(name)
        if tool is None:
            return unknown_tool(name, self.tools, self._engine.assembly.mounted.diagnostics)
        return await tool.execute(ToolCall(arguments=arguments, on_update=on_update, abort=abort))

    def handle(self, handle_id: str) -> Handle | Call | None:
        """Find a call by its id, or a task by its; None if there is none.

        A call that has started tasks is found after a restart too, and so is a task.
        """
        self._engine.orchestrator.check_open()
        calls = self._engine.calls
        call, task = calls.known(CallId(handle_id)), self._engine.store.get(TaskId(handle_id))
        if call is None and isinstance(task, Ok):
            return Handle(self._engine.orchestrator, task, child_tool=self._engine.child_tool)
        return call or calls.kept(CallId(handle_id))

    def events(self, *, with_checkpoints: bool = False) -> AsyncGenerator[TaskEvent]:
        """Yield each event of all tasks, from the first `anext` on until this `Ohm` closes.

        `with_checkpoints`: see `Handle.events`.
        """
        self._engine.orchestrator.check_open()
        return self._engine.all_events(with_checkpoints=with_checkpoints)

    def deliveries(self, consumer: str, *, session: str | None = None, calls: str | None = None) -> Deliveries:
        """Iterate over the tasks of the store that settle, each once it is safely there, until this `Ohm` closes.

        `consumer` is a name of yours under which the store keeps what was acknowledged (`Delivery.ack`); what was not
        comes again, in order, to the next one of that name, after a restart too. A new name begins with what has
        settled since this `Ohm` was opened. `session` and `calls` choose tasks of one session, and of calls whose id
        begins with a text of yours. Iterate once at a time for each name: two iterators of one name are both given
        what neither has acknowledged. Raises ValueError for a name that is none.
        """
        self._engine.orchestrator.check_open()
        outboxes = self._engine.outboxes
        named = named_consumer(consumer, session=session, calls=calls)
        return outboxes.deliveries(named, outboxes.of_store, output_max_chars=self._engine.output_max_chars)

    def mailbox(self, parent: str | None = None) -> Mailbox:
        """Open the mailbox of a parent agent: its calls, and the results of their background tasks for its next turn.

        `parent` is a name of yours for a parent that goes on after a restart, whose results then wait for it in the
        store. Without one, the mailbox ends with this `Ohm`. Raises ValueError for a name that is none.
        """
        from ohm_subagents._app.mailbox import SEPARATOR, Mailbox  # noqa: PLC0415  most have none

        self._engine.orchestrator.check_open()
        outboxes, name = self._engine.outboxes, token_hex(8) if parent is None else parent
        outbox = outboxes.of_process if parent is None else outboxes.of_store
        named = named_consumer(name, session=None, calls=f"{name}{SEPARATOR}")
        deliveries = outboxes.deliveries(named, outbox, output_max_chars=self._engine.output_max_chars)
        return Mailbox(self, deliveries, parent=name)

    def forget_consumer(self, consumer: str) -> None:
        """Keep nothing any more for a consumer of `deliveries` that will not come again."""
        self._engine.orchestrator.check_open()
        self._engine.outboxes.of_store.forget(consumer)

    def requests(self) -> tuple[Request, ...]:
        """Return the requests of subagents that wait for an answer, oldest first."""
        self._engine.orchestrator.check_open()
        return self._engine.answering.open_requests()

    async def answer(self, request_id: str, answer: Answer, *, by: AnsweredBy = "program") -> Result[Request, OhmError]:
        """Answer a request of a subagent; its run goes on once the answer is stored. The first answer counts.

        `Approve` and `Deny` are for a tool call, `Text` is for a question. Returns the request, or
        `unknown_request_id`, `request_closed` or `invalid_answer`. `by` is for doors that pass on an answer.
        """
        self._engine.orchestrator.check_open()
        return await self._engine.answering.answer(request_id, answer, by)

    def answering(
        self,
        callback: Callable[[Request], Awaitable[Answer | None]],
        *,
        by: AnsweredBy,
        attends: Callable[[tuple[TaskId, ...]], bool] | None = None,
    ) -> AbstractContextManager[None]:
        """Ask `callback` about each request that is made while the context is open, as `approvals` of `Ohm.open` is.

        `by` says for whom it answers: as `program`, `host` or `callback` it is also asked about requests whose process
        has ended, of tasks in the directory of this `Ohm`, and these go on here; as `terminal`, `editor` or `client` it
        is not. None leaves a request to others: to another callback, and to `Ohm.answer`. The first answer counts, and
        the callbacks that have not answered by then are cancelled. `attends` gets the ids of the tasks from the root to
        the one that asks, and returns True for those that this callback can answer for; None is all. Without anybody to
        ask, `subagents.requests.unattended` says what becomes of a call that a rule asks about.
        """
        return self._engine.orphans.answering(callback, by, attends)

    async def land(self, task_id: str) -> Result[Envelope, OhmError]:
        """Make the changes that a settled task has kept apart to the files of its directory: all of them, or none.

        They are made to the files as they are now, and stay uncommitted. Returns the task's envelope, or
        `landing_conflict`, which names each file and its lines, or `nothing_to_land`. It may be a task of any process.
        """
        return await self._of_work(LandWork(id=task_id))

    async def discard(self, task_id: str) -> Result[Envelope, OhmError]:
        """Remove the changes that a settled task has kept apart, unless they have landed; else as `land`."""
        return await self._of_work(LandWork(id=task_id, op="discard"))

    async def _of_work(self, command: LandWork) -> Result[Envelope, OhmError]:
        match await self._engine.orchestrator.execute(command):
            case AnswerReply(task=task):
                return Ok(envelope_of(task))
            case CommandRejected(error=error):
                return Err(error)
            case _:
                raise AssertionError("A landing has a task, or is refused.")

    def task(self, task_id: str) -> Task | None:
        """Return the newest state of a task: whole output, events, usage. None if it is unknown or expired."""
        return self._engine.store.get(TaskId(task_id)).ok()

    def envelope(self, task_id: str) -> Envelope | None:
        """Return the task.v1 envelope of a task, with its whole answer. None if it is unknown or expired."""
        task = self.task(task_id)
        return None if task is None else envelope_of(task)
