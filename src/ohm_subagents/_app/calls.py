"""Calls of tools that a program follows by their ids, now or after a restart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents._app.streams import EventStream, past_of
from ohm_subagents._orchestrator.call_context import new_call_id, part_of
from ohm_subagents._orchestrator.observe.call import ProgramCall
from ohm_subagents._orchestrator.observe.observers import Follower
from ohm_subagents._orchestrator.task_options import NO_OPTIONS
from ohm_subagents._plugins.stores import TaskQuery
from ohm_subagents._store.following import end_of
from ohm_subagents._tools.tool import refused
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import TaskSettled
from ohm_subagents.contract.ids import CallId
from ohm_subagents.contract.result import Ok

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

    from ohm_subagents._app.commanding import Commanding
    from ohm_subagents._orchestrator.task_options import TaskOptions
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.tool import ToolResult
    from ohm_subagents.contract.events import Event, TaskEvent
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.listed_task import ListedTask
    from ohm_subagents.contract.task import Task

    Work = Callable[[anyio.Event], Awaitable[ToolResult]]
    """Carries out a call, and ends it early when the event is set."""

MAX_OVER: Final = 100
"""So many calls that are over are remembered with their results; an older one is known by its tasks."""
LONGEST_ID: Final = 200
_CLOSED: Final = OhmError(code=ErrorCode.TASK_ABORTED, message="The Ohm that owned the call was closed.")


class CallState(Follower):
    """One call: the tasks that it has started, its result, and who reads its events.

    Fields:
        is_settled: of each task that the call has started, in their order.
        abort: set to end the call early; None for one whose tasks are only collected.
        over: set once there is a result.
        streams: the readers of events.
        told: the tasks whose end the result tells.
    """

    def __init__(self, call_id: CallId, tasks: Iterable[ListedTask] = (), *, is_collected: bool = False) -> None:
        self.id = call_id
        self.is_settled: dict[TaskId, bool] = {task.id: task.is_terminal for task in tasks}
        self.abort = None if is_collected else anyio.Event()
        self.over = anyio.Event()
        self.result: ToolResult | None = None
        self.streams: list[EventStream] = []
        self.told: set[TaskId] = set()

    @property
    def is_finished(self) -> bool:
        """True once nothing more happens: the call is over, and so are its tasks."""
        return self.over.is_set() and all(self.is_settled.values())

    def notify(self, task: Task, event: Event) -> None:
        """Note which tasks the call has started; pass on what happens to them, and to others that it is about."""
        if task.assignment.call == self.id:
            self.is_settled[task.id] = isinstance(event, TaskSettled)
        for stream in self.streams:
            stream.notify(task, event)
        self._end_streams()

    def leave(self, task: Task) -> None:
        """Wait no more for a task that goes on in another process, if at all."""
        if task.assignment.call == self.id:
            self.is_settled[task.id] = True
        self._end_streams()

    async def run(self, work: Callable[[], Awaitable[ToolResult]], options: TaskOptions) -> None:
        """Carry out the call and keep its result."""
        try:
            program = ProgramCall(id=self.id, observer=self, options=options, told=self.told)
            with part_of(program):
                result = await work()
            self.result = _telling(result, [name for name in options.named if name not in program.heeded])
        finally:
            self.result = refused(_CLOSED) if self.result is None else self.result
            if self.abort is None:  # it has waited for them, and no event of another process comes here
                self.is_settled = dict.fromkeys(self.is_settled, True)
            self.over.set()
            self._end_streams()

    def _end_streams(self) -> None:
        if self.streams and self.is_finished:
            for stream in self.streams:
                stream.end()
            self.streams.clear()


class Call:
    """A call of a tool that goes on by itself: what `Ohm.begin` returns, and `Ohm.handle` finds again.

    It ends with its `Ohm`. After a restart the tasks that it had started are still found by its id.
    """

    def __init__(self, state: CallState, engine: Commanding, store: Store) -> None:
        """Use `Ohm.begin`."""
        self._state = state
        self._engine = engine
        self._store = store

    @property
    def id(self) -> CallId:
        """The id that `Ohm.handle` takes; random, unless you gave it."""
        return self._state.id

    @property
    def task_ids(self) -> tuple[TaskId, ...]:
        """The tasks that the call has started so far, in their order."""
        return tuple(self._state.is_settled)

    @property
    def told_ids(self) -> frozenset[TaskId]:
        """The tasks whose end the result tells, also such as another call has started."""
        return frozenset(self._state.told)

    @property
    def result(self) -> ToolResult | None:
        """The result; None until the call is over."""
        return self._state.result

    async def wait(self) -> ToolResult:
        """Return the result of the call once it is over. To stop waiting cancels nothing.

        Tasks in the background may go on then, as the result says. A call that is found again after a restart has the
        result that its tasks add up to.
        """
        self._engine.check_open()
        await self._state.over.wait()
        return self._state.result or refused(_CLOSED)

    async def cancel(self) -> bool:
        """Stop the call and every task that it has started, at once on the record; False if all was over before."""
        self._engine.check_open()
        state = self._state
        is_ended = state.abort is not None and not state.over.is_set()
        unsettled = [task_id for task_id, is_settled in state.is_settled.items() if not is_settled]
        cancelled = [await self._engine.cancel(task_id) for task_id in unsettled]
        if state.abort is not None:
            state.abort.set()
        await checkpoint()
        return is_ended or any(cancelled)

    async def events(self, *, with_checkpoints: bool = False) -> AsyncGenerator[TaskEvent]:
        """Yield what is kept of the past of its tasks, then each event, until the call and its tasks are over.

        A follow-up that the call sends is in there too. `with_checkpoints`: see `Handle.events`.
        """
        self._engine.check_open()
        state = self._state
        with EventStream(with_checkpoints=with_checkpoints) as stream:
            past = [each for task in self._tasks(state.is_settled) for each in past_of(task)]
            unsettled = [task_id for task_id, is_settled in state.is_settled.items() if not is_settled]
            is_followed = not state.is_finished
            if is_followed:
                state.streams.append(stream)
            try:
                for each in past:
                    yield each
                if not is_followed:
                    return
                async for each in stream:
                    yield each
                    if isinstance(each.event, TaskSettled) and each.task_id in unsettled:
                        unsettled.remove(each.task_id)
                for task in self._tasks(unsettled):  # another process has run it
                    if task.is_terminal:
                        yield end_of(task)
            finally:
                if stream in state.streams:
                    state.streams.remove(stream)

    def _tasks(self, task_ids: Iterable[TaskId]) -> list[Task]:
        found = map(self._store.get, tuple(task_ids))
        return [each.ok_value for each in found if isinstance(each, Ok)]


class Calls:
    """The calls of one `Ohm`; those that are over are forgotten one day, the oldest first."""

    def __init__(
        self,
        engine: Commanding,
        store: Store,
        *,
        spawn: Callable[[Callable[[], Awaitable[None]]], None],
        collect: Callable[[Iterable[TaskId]], Awaitable[ToolResult]],
    ) -> None:
        self._engine = engine
        self._store = store
        self._spawn = spawn
        self._collect = collect
        self._known: dict[CallId, CallState] = {}

    def begin(self, work: Work, call_id: str | None, options: TaskOptions) -> Call:
        """Carry out a call in a task of its own, unless there is one with this id: then return that."""
        fault = None if call_id is None else _fault_of(call_id)
        named = new_call_id() if call_id is None or fault is not None else CallId(call_id)
        found = None if call_id is None else self.known(named) or self.kept(named)
        if found is not None:
            return found
        state = CallState(named)

        async def carried_out() -> ToolResult:
            if fault is not None:
                await checkpoint()
                return refused(fault)
            return await work(state.abort or anyio.Event())

        return self._begun(state, carried_out, options)

    def known(self, call_id: CallId) -> Call | None:
        """Return a call of this process that is not forgotten."""
        state = self._known.get(call_id)
        return None if state is None else Call(state, self._engine, self._store)

    def kept(self, call_id: CallId) -> Call | None:
        """Return a call whose tasks are kept, say by an earlier process."""
        found = self._store.list(TaskQuery(call=call_id))
        kept = [each.ok_value for each in found if isinstance(each, Ok)][::-1]
        if not kept:
            return None
        state = CallState(call_id, kept, is_collected=True)
        return self._begun(state, lambda: self._collect([task.id for task in kept]))

    def close(self) -> None:
        """End every call: its `Ohm` is closed."""
        for state in self._known.values():
            if state.abort is not None:
                state.abort.set()

    async def closed(self) -> None:
        """Wait until every call is over."""
        for state in tuple(self._known.values()):
            if state.abort is not None:
                await state.over.wait()

    def _begun(
        self, state: CallState, work: Callable[[], Awaitable[ToolResult]], options: TaskOptions = NO_OPTIONS
    ) -> Call:
        over = [call_id for call_id, each in self._known.items() if each.is_finished]
        for call_id in over[: max(0, len(over) - MAX_OVER + 1)]:
            del self._known[call_id]
        self._known[state.id] = state
        self._spawn(lambda: state.run(work, options))
        return Call(state, self._engine, self._store)


def _telling(result: ToolResult, unheeded: list[str]) -> ToolResult:
    """Return the result with a diagnostic for the program about options that have counted for nothing."""
    if not unheeded:
        return result
    names = ", ".join(f"'{name}'" for name in unheeded)
    told, before = f"Ignored {names}: this call starts no task.", result.details.get("diagnostics")
    known = before if isinstance(before, list) else []
    return replace(result, details={**result.details, "diagnostics": [*known, told]})


def _fault_of(call_id: object) -> OhmError | None:
    if isinstance(call_id, str) and call_id.isprintable() and 0 < len(call_id) <= LONGEST_ID:
        return None
    return OhmError(
        code=ErrorCode.INVALID_TOOL_ARGUMENTS,
        message=f"call_id is {call_id!r:.60}; allowed: 1 to {LONGEST_ID} printable characters.",
    )
