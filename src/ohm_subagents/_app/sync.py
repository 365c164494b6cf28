"""An `Ohm` for code without an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, Unpack, cast, overload

from ohm_subagents._app.handle import Handle
from ohm_subagents._app.sync_handles import CallSync, DeliverySync, HandleSync, each_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from ohm_subagents._app.calls import Call
    from ohm_subagents._app.delegation import Delegation
    from ohm_subagents._app.options import CallOptions, RunOptions
    from ohm_subagents._app.sync_handles import InLoop
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.tool import OnUpdate, Tool, ToolResult
    from ohm_subagents.contract.envelope import DataT, Envelope
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import TaskEvent
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.requests import Answer, AnsweredBy, Request
    from ohm_subagents.contract.result import Result
    from ohm_subagents.contract.task import Task

T = TypeVar("T")


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
        return each_of(events, self._in_loop)

    def deliveries(
        self, consumer: str, *, session: str | None = None, calls: str | None = None
    ) -> Generator[DeliverySync]:
        """Yield the tasks that settle for a named consumer, as `Ohm.deliveries`."""
        opened = self._now(lambda: self._ohm.deliveries(consumer, session=session, calls=calls))
        return (DeliverySync(each, self._in_loop) for each in each_of(opened, self._in_loop))

    def forget_consumer(self, consumer: str) -> None:
        """Keep nothing any more for a consumer, as `Ohm.forget_consumer`."""
        self._now(lambda: self._ohm.forget_consumer(consumer))

    def requests(self) -> tuple[Request, ...]:
        """Return the requests of subagents that wait for an answer, as `Ohm.requests`."""
        return self._now(self._ohm.requests)

    def answer(self, request_id: str, answer: Answer, *, by: AnsweredBy = "program") -> Result[Request, OhmError]:
        """Answer a request of a subagent, as `Ohm.answer`."""
        return self._in_loop(lambda: self._ohm.answer(request_id, answer, by=by))

    def land(self, task_id: str) -> Result[Envelope, OhmError]:
        """Make the changes of a settled task to the files of its directory, as `Ohm.land`."""
        return self._in_loop(lambda: self._ohm.land(task_id))

    def discard(self, task_id: str) -> Result[Envelope, OhmError]:
        """Remove the changes of a settled task, as `Ohm.discard`."""
        return self._in_loop(lambda: self._ohm.discard(task_id))

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
