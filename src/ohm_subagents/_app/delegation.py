"""The methods of an `Ohm` that call tools, and that start and find tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack, overload

from anyio.lowlevel import checkpoint

from ohm_subagents._app.answers import answer_of, envelope_of
from ohm_subagents._app.handle import Handle, one_item, start_item
from ohm_subagents._app.options import CallOptions, RunOptions, overrides_of, parent_of, task_options
from ohm_subagents._plugins.suites.tool import ToolCall, ToolResult
from ohm_subagents._tools.tool import as_json, unknown_tool
from ohm_subagents.contract.commands import Start, StartItem
from ohm_subagents.contract.ids import CallId, TaskId
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    import anyio
    from pydantic import JsonValue

    from ohm_subagents._app.calls import Call
    from ohm_subagents._app.engine import Engine
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.tool import OnUpdate, Tool
    from ohm_subagents.contract.envelope import DataT, Envelope
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import TaskEvent
    from ohm_subagents.contract.profile import Profile
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

        A refused start gives a handle too; its `wait` answers why. The task is cancelled when this `Ohm` closes.
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
        return item, Start(items=(item,), by_program=True, budget=options.get("budget"), parent=parent_of(options))

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

    def task(self, task_id: str) -> Task | None:
        """Return the newest state of a task: whole output, events, usage. None if it is unknown or expired."""
        return self._engine.store.get(TaskId(task_id)).ok()

    def envelope(self, task_id: str) -> Envelope | None:
        """Return the task.v1 envelope of a task, with its whole answer. None if it is unknown or expired."""
        task = self.task(task_id)
        return None if task is None else envelope_of(task)
