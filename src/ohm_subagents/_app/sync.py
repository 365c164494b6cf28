"""An `Ohm` for code without an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, Unpack, cast, overload

from ohm_subagents._app.handle import Handle
from ohm_subagents.contract.envelope import DataT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping

    from ohm_subagents._app.calls import Call
    from ohm_subagents._app.delegation import Delegation
    from ohm_subagents._app.options import CallOptions, RunOptions
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.tool import OnUpdate, Tool, ToolResult
    from ohm_subagents.contract.envelope import Envelope
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event, TaskEvent
    from ohm_subagents.contract.ids import CallId, TaskId
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.result import Result
    from ohm_subagents.contract.task import Task

T = TypeVar("T")


class InLoop(Protocol):
    """Carries out work in the event loop of an `Ohm`, and returns what it returns."""

    def __call__(self, work: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """Wait for the work, in a thread that is not that of the event loop."""
        ...


class OhmSync:
    """An `Ohm` whose methods block. Any thread may use it, but that of the event loop.

    `Ohm.sync` opens one, and `Ohm.from_thread` is one of an `Ohm` that is open. `on_update` and observers are called in
    the thread of the event loop.
    """

    def __init__(self, ohm: Delegation, in_loop: InLoop) -> None:
        """Use `Ohm.sync` or `Ohm.from_thread`."""
        self._ohm = ohm
        self._in_loop = in_loop

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The mounted tools by name."""
        return self._ohm.tools

    @overload
    def run(
        self,
        profile: str | Profile,
        prompt: str,
        *,
        result_type: type[DataT],
        observer: Observer | None = None,
        **options: Unpack[RunOptions],
    ) -> Result[Envelope[DataT], OhmError]: ...
    @overload
    def run(
        self,
        profile: str | Profile,
        prompt: str,
        *,
        result_type: None = None,
        observer: Observer | None = None,
        **options: Unpack[RunOptions],
    ) -> Result[Envelope, OhmError]: ...
    def run(
        self,
        profile: str | Profile,
        prompt: str,
        *,
        result_type: type[DataT] | None = None,
        observer: Observer | None = None,
        **options: Unpack[RunOptions],
    ) -> Result[Envelope[DataT], OhmError]:
        """Run one task and return its whole answer, as `Ohm.run`."""

        async def run() -> Result[Envelope[DataT], OhmError]:
            said = cast("type[DataT]", result_type)
            return await self._ohm.run(profile, prompt, result_type=said, observer=observer, **options)

        return self._in_loop(run)

    @overload
    def start(
        self, profile: str | Profile, prompt: str, *, result_type: type[DataT], **options: Unpack[RunOptions]
    ) -> HandleSync[DataT]: ...
    @overload
    def start(
        self, profile: str | Profile, prompt: str, *, result_type: None = None, **options: Unpack[RunOptions]
    ) -> HandleSync: ...
    def start(
        self,
        profile: str | Profile,
        prompt: str,
        *,
        result_type: type[DataT] | None = None,
        **options: Unpack[RunOptions],
    ) -> HandleSync[DataT]:
        """Start one task in the background, as `Ohm.start`."""

        async def start() -> Handle[DataT]:
            return await self._ohm.start(profile, prompt, result_type=cast("type[DataT]", result_type), **options)

        return HandleSync(self._in_loop(start), self._in_loop)

    def call(self, name: str, arguments: object, *, on_update: OnUpdate | None = None) -> ToolResult:
        """Call a mounted tool, as `Ohm.call`."""
        return self._in_loop(lambda: self._ohm.call(name, arguments, on_update=on_update))

    def begin(
        self,
        name: str,
        arguments: object,
        *,
        call_id: str | None = None,
        on_update: OnUpdate | None = None,
        result_type: type[object] | None = None,
        **options: Unpack[CallOptions],
    ) -> CallSync:
        """Begin the call of a mounted tool, as `Ohm.begin`."""

        async def begin() -> Call:
            return await self._ohm.begin(
                name, arguments, call_id=call_id, on_update=on_update, result_type=result_type, **options
            )

        return CallSync(self._in_loop(begin), self._in_loop)

    def handle(self, handle_id: str) -> HandleSync | CallSync | None:
        """Find a call or a task by its id, as `Ohm.handle`."""
        found = self._now(lambda: self._ohm.handle(handle_id))
        if isinstance(found, Handle):
            return HandleSync(found, self._in_loop)
        return None if found is None else CallSync(found, self._in_loop)

    def events(self, *, with_checkpoints: bool = False) -> Generator[TaskEvent]:
        """Yield each event of all tasks, as `Ohm.events`."""
        events = self._now(lambda: self._ohm.events(with_checkpoints=with_checkpoints))
        return _each(events, self._in_loop)

    def task(self, task_id: str) -> Task | None:
        """Return the newest state of a task, as `Ohm.task`."""
        return self._now(lambda: self._ohm.task(task_id))

    def envelope(self, task_id: str) -> Envelope | None:
        """Return the envelope of a task, as `Ohm.envelope`."""
        return self._now(lambda: self._ohm.envelope(task_id))

    def _now(self, work: Callable[[], T]) -> T:
        async def done() -> T:
            return work()

        return self._in_loop(done)


class HandleSync(Generic[DataT]):
    """A `Handle` whose methods block."""

    def __init__(self, handle: Handle[DataT], in_loop: InLoop) -> None:
        """Use `OhmSync.start`."""
        self._handle = handle
        self._in_loop = in_loop

    @property
    def id(self) -> TaskId | None:
        """The task that it is about; None when the start was refused."""
        return self._handle.id

    @property
    def task_ids(self) -> tuple[TaskId, ...]:
        """The same as a tuple."""
        return self._handle.task_ids

    def wait(self, *, timeout_ms: int | None = None) -> Result[Envelope[DataT], OhmError]:
        """Return the answer of the task, as `Handle.wait`."""
        return self._in_loop(lambda: self._handle.wait(timeout_ms=timeout_ms))

    def send(
        self,
        prompt: str,
        *,
        profile: Profile | None = None,
        tools: Iterable[Tool | Callable[..., object]] | None = None,
    ) -> Result[Envelope[DataT], OhmError]:
        """Send a follow-up and return its answer, as `Handle.send`."""
        return self._in_loop(lambda: self._handle.send(prompt, profile=profile, tools=tools))

    def cancel(self) -> bool:
        """Stop the task, as `Handle.cancel`."""
        return self._in_loop(self._handle.cancel)

    def events(self, *, with_checkpoints: bool = False) -> Generator[Event]:
        """Yield its events, as `Handle.events`."""
        return _each(self._handle.events(with_checkpoints=with_checkpoints), self._in_loop)


class CallSync:
    """A `Call` whose methods block."""

    def __init__(self, call: Call, in_loop: InLoop) -> None:
        """Use `OhmSync.begin`."""
        self._call = call
        self._in_loop = in_loop

    @property
    def id(self) -> CallId:
        """The id that `OhmSync.handle` takes."""
        return self._call.id

    @property
    def task_ids(self) -> tuple[TaskId, ...]:
        """The tasks that the call has started so far."""
        return self._call.task_ids

    def wait(self) -> ToolResult:
        """Return the result of the call, as `Call.wait`."""
        return self._in_loop(self._call.wait)

    def cancel(self) -> bool:
        """Stop the call and its tasks, as `Call.cancel`."""
        return self._in_loop(self._call.cancel)

    def events(self, *, with_checkpoints: bool = False) -> Generator[TaskEvent]:
        """Yield the events of its tasks, as `Call.events`."""
        return _each(self._call.events(with_checkpoints=with_checkpoints), self._in_loop)


def _each(events: AsyncGenerator[T], in_loop: InLoop) -> Generator[T]:
    async def following() -> tuple[T, ...]:
        """Return the next event, or nothing after the last one."""
        try:
            return (await anext(events),)
        except StopAsyncIteration:
            return ()

    try:
        while found := in_loop(following):
            yield found[0]
    finally:
        in_loop(events.aclose)
