"""`Ohm`: what a program holds."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Self, Unpack, overload

from anyio.lowlevel import checkpoint

from ohm_subagents._app.answers import answer_of, envelope_of
from ohm_subagents._app.assembly import assemble
from ohm_subagents._app.handle import Handle, one_item, start_item
from ohm_subagents._app.host_events import NOTHING
from ohm_subagents._app.inspection import inspection_of
from ohm_subagents._app.mounting import message_text
from ohm_subagents._app.opening import OpenOptions, changed, opened_engine
from ohm_subagents._app.options import CallOptions, RunOptions, overrides_of, parent_of, task_options
from ohm_subagents._plugins.suites.interface import UNMOUNTED, ToolCall, ToolResult
from ohm_subagents._tools.tool import as_json, unknown_tool
from ohm_subagents._views.theme import PLAIN
from ohm_subagents.contract.commands import Start, StartItem
from ohm_subagents.contract.ids import CallId, TaskId
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from types import EllipsisType

    import anyio
    from pydantic import JsonValue

    from ohm_subagents._app.assembly import ConfigSource
    from ohm_subagents._app.calls import Call
    from ohm_subagents._app.engine import Engine
    from ohm_subagents._app.inspection import Inspection
    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.interface import JsonObject, OnUpdate, Tool
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.envelope import DataT, Envelope
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import TaskEvent
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.task import Task


class Ohm:
    """Subagents for one program or parent agent; owns every task it starts.

    Nothing here raises for bad input: what is wrong with a configuration, a profile or a key is the answer of the call
    that met it, as an `OhmError` or as the error keys of an envelope.
    """

    def __init__(self, engine: Engine) -> None:
        """Use `Ohm.open`."""
        self._engine = engine

    @classmethod
    @asynccontextmanager
    async def open(cls, **options: Unpack[OpenOptions]) -> AsyncGenerator[Self]:
        """Open an `Ohm`; on leaving, every task that still runs is cancelled, every backend closed, every task kept.

        `OpenOptions` has the keyword arguments. Raises TypeError for bad `plugins`, and for a `config` that is neither
        a mapping nor a path; whatever else is wrong is in `diagnostics`, or the answer of what it is wrong for.
        """
        async with opened_engine(options) as engine:
            yield cls(engine)

    async def reconfigure(
        self,
        *,
        config: ConfigSource | EllipsisType = ...,
        env: Mapping[str, str] | EllipsisType | None = ...,
        profiles: Iterable[Profile] | EllipsisType | None = ...,
    ) -> None:
        """Replace the configuration, the environment or the catalogue at once; what is `...` stays, and is read anew.

        Runs that go on keep what they were started with; everything after this call sees the new values. A backend
        whose options changed is opened anew for new runs. The store stays; how long it keeps tasks may change.
        """
        self._engine.orchestrator.check_open()
        sources = changed(self._engine.assembly.sources, config=config, env=env, profiles=profiles)
        over = self._engine.events
        self._engine.replace(assemble(sources))
        await over.emit(UNMOUNTED)
        if sources.live_ui is not None:
            sources.live_ui.refresh()
        await checkpoint()

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The mounted tools by name, for any agent framework."""
        return self._engine.assembly.mounted.parent.tools

    @property
    def child_tools(self) -> Mapping[str, Tool]:
        """The tools that plugins offer to subagents, by name."""
        return self._engine.assembly.mounted.child.tools

    @property
    def config(self) -> OhmConfig:
        """The configuration in force; the defaults while ohm.json cannot be read."""
        return self._engine.assembly.config

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The roster: every profile that may be shown."""
        return self._engine.profiles()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that was not honoured as written."""
        return (*self._engine.assembly.diagnostics, *self._engine.suite_diagnostics(), *self._engine.store.diagnostics)

    @property
    def store(self) -> Store:
        """The store that keeps the tasks."""
        return self._engine.store

    def inspect(self) -> Inspection:
        """Return the parts of this `Ohm` as they are now: configuration with origins, plugins, backends, models, tools.

        `ohm doctor` is made of it. What plugins check themselves is asked for only by a call of its `checks`.
        """
        return inspection_of(self._engine.assembly)

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
        call = self._engine.calls.find(CallId(handle_id))
        if call is not None:
            return call
        found = self._engine.store.get(TaskId(handle_id))
        return Handle(self._engine.orchestrator, found) if isinstance(found, Ok) else None

    def events(self, *, with_checkpoints: bool = False) -> AsyncGenerator[TaskEvent]:
        """Yield each event of all tasks, from the first `anext` on until this `Ohm` closes.

        `with_checkpoints`: see `Handle.events`.
        """
        self._engine.orchestrator.check_open()
        return self._engine.all_events(with_checkpoints=with_checkpoints)

    async def emit(self, event: str, payload: Mapping[str, object] = NOTHING) -> tuple[JsonObject, ...]:
        """Tell the mounted suites what happened to the session of the host, say `session_start`; gives their answers.

        They are told one after another in the order of mounting. One that raises is logged, one that has nothing to
        answer is left out. `payload` is what there is to know of the event, as plain JSON. `reconfigure` mounts the
        suites anew, and only those that are mounted then hear of what comes after it.
        """
        self._engine.orchestrator.check_open()
        await checkpoint()
        return await self._engine.events.emit(event, payload)

    def render_message(self, kind: str, text: str, *, theme: Theme = PLAIN) -> str:
        """A message that a suite gave to `Host.send_message`, or answered an event with, for a person."""
        return message_text(self._engine.assembly.host.tool_suites().values(), kind, text, theme)

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
        self, profile: str | Profile, prompt: str, *, observer: Observer | None = None, **options: Unpack[RunOptions]
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
        """Run one task and give its whole answer. `Err` is a refusal, a failure or a cancellation.

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
    async def start(self, profile: str | Profile, prompt: str, **options: Unpack[RunOptions]) -> Handle: ...
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
        return Handle(self._engine.orchestrator, started, item=item, result_type=result_type)

    def _start_of(
        self, profile: str | Profile, prompt: str, options: RunOptions, result_type: type[DataT] | None
    ) -> tuple[StartItem, Start]:
        overrides = overrides_of(options, result_type, self._engine.child_tool)
        item = start_item(profile, prompt, options, overrides)
        return item, Start(items=(item,), by_program=True, budget=options.get("budget"), parent=parent_of(options))

    async def warm_up(self, *profiles: str) -> tuple[Diagnostic, ...]:
        """Import and open now what first runs of `profiles`, or of all visible ones, would wait for; asks no model.

        What cannot be opened, say for want of a key, is a diagnostic here, and the error of a run that needs it.
        """
        return await self._engine.warm_up(profiles)

    def task(self, task_id: str) -> Task | None:
        """The newest state of a task: its whole output, its events, its usage. None if it is unknown or expired."""
        return self._engine.store.get(TaskId(task_id)).ok()

    def envelope(self, task_id: str) -> Envelope | None:
        """Give the task.v1 envelope of a task, with its whole answer. None if it is unknown or expired."""
        task = self.task(task_id)
        return None if task is None else envelope_of(task)
