"""Tasks, calls and deliveries for code without an event loop: their methods block."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ohm_subagents._concurrency.own_loop import ClosedError
from ohm_subagents.contract.envelope import DataT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterable

    from ohm_subagents._app.calls import Call
    from ohm_subagents._app.handle import Handle
    from ohm_subagents._plugins.suites.delivery import Delivery
    from ohm_subagents._plugins.suites.tool import Tool, ToolResult
    from ohm_subagents.contract.envelope import Envelope
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event, TaskEvent
    from ohm_subagents.contract.ids import CallId, TaskId
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.result import Result
    from ohm_subagents.contract.task import Task

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class InLoop(Protocol):
    """Carries out work in the event loop of an `Ohm`, and returns what it returns."""

    def __call__(self, work: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """Wait for the work, in a thread that is not that of the event loop."""
        ...


class _Stream(Protocol[T_co]):
    """An iterator in the event loop, as long as somebody reads it."""

    def __anext__(self) -> Coroutine[Any, Any, T_co]: ...
    def aclose(self) -> Coroutine[Any, Any, None]: ...


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
        return each_of(self._handle.events(with_checkpoints=with_checkpoints), self._in_loop)


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
        return each_of(self._call.events(with_checkpoints=with_checkpoints), self._in_loop)


class DeliverySync:
    """A `Delivery` whose `ack` blocks."""

    def __init__(self, delivery: Delivery, in_loop: InLoop) -> None:
        """Use `OhmSync.deliveries`."""
        self._delivery = delivery
        self._in_loop = in_loop

    @property
    def sequence(self) -> int:
        """Its number in the outbox."""
        return self._delivery.sequence

    @property
    def task(self) -> Task:
        """The task as it settled."""
        return self._delivery.task

    @property
    def envelope(self) -> Envelope:
        """The task.v1 envelope, with the whole answer."""
        return self._delivery.envelope

    @property
    def text(self) -> str:
        """The result for a model, as `Delivery.text`."""
        return self._delivery.text

    def ack(self) -> None:
        """Acknowledge it, as `Delivery.ack`."""
        self._in_loop(self._delivery.ack)


def each_of(events: _Stream[T], in_loop: InLoop) -> Generator[T]:
    """Yield what is there to read in the event loop, and stop to read with the generator."""

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
        with suppress(ClosedError):
            in_loop(events.aclose)
