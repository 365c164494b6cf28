"""Deliveries: the settled tasks of a store, for a named consumer that acknowledges each."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self, cast

from anyio.lowlevel import checkpoint

from ohm_subagents._app.answers import envelope_of
from ohm_subagents._plugins.outbox import Consumer
from ohm_subagents._plugins.suites.delivery import Delivery
from ohm_subagents._store.following import Watch
from ohm_subagents._store.outbox import MemoryOutbox
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import TaskSettled
from ohm_subagents.contract.ids import SessionId

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._app.commanding import Commanding
    from ohm_subagents._plugins.outbox import Outbox, OutboxEntry
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.embedding import Host
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task

AT_ONCE: Final = 50
"""So many entries are read of the outbox at a time."""
LONGEST_NAME: Final = 200


def named_consumer(name: str, *, session: str | None, calls: str | None) -> Consumer:
    """Return a consumer. Raises ValueError for a name that is none."""
    if not (isinstance(cast("object", name), str) and name.isprintable() and 0 < len(name.strip()) <= LONGEST_NAME):
        wrong = f"consumer is {name!r:.60}; allowed: a name of 1 to {LONGEST_NAME} printable characters."
        raise ValueError(wrong)
    return Consumer(name=name, session=None if session is None else SessionId(session), calls=calls)


class Deliveries:
    """The iterator of `Ohm.deliveries`, which waits for the next delivery, and ends when its `Ohm` closes."""

    def __init__(
        self, outbox: Outbox, store: Store, consumer: Consumer, *, output_max_chars: Callable[[], int]
    ) -> None:
        """Use `Ohm.deliveries`."""
        self._outbox = outbox
        self._consumer = consumer
        self._store = store
        self._max_chars = output_max_chars
        self._waiting: deque[OutboxEntry] = deque()
        self._after = 0
        self._has_ended = False
        self._watch = Watch(outbox)
        self._watch.__enter__()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery:
        await checkpoint()
        while not self._has_ended:
            if entry := self._next():
                return self._delivery(entry)
            await self._watch.news()
        raise StopAsyncIteration

    def pending(self) -> tuple[Delivery, ...]:
        """Return what can be delivered now, in order, without waiting."""
        found: list[Delivery] = []
        while not self._has_ended and (entry := self._next()):
            found.append(self._delivery(entry))
        return tuple(found)

    async def aclose(self) -> None:
        """Stop to follow; what is not acknowledged comes again to the next one of this name."""
        self.end()
        await checkpoint()

    def end(self) -> None:
        """End for whoever iterates."""
        self._has_ended = True
        self._watch.__exit__()
        self._watch.wake()

    def _delivery(self, entry: OutboxEntry) -> Delivery:
        cap = self._max_chars()
        return Delivery(entry.sequence, entry.task, ack=self._ack, envelope=envelope_of, output_max_chars=cap)

    async def _ack(self, sequence: int) -> None:
        self._outbox.acknowledge(self._consumer.name, sequence)
        await self._store.flush()

    def _next(self) -> OutboxEntry | None:
        if not self._waiting:
            self._waiting.extend(self._outbox.pending(self._consumer, after=self._after, limit=AT_ONCE))
        if not self._waiting:
            return None
        entry = self._waiting.popleft()
        self._after = entry.sequence
        return entry


class Outboxes:
    """The outbox of the store, or one of this process; and who iterates over it."""

    def __init__(self, engine: Commanding, store: Store) -> None:
        self._engine = engine
        self._store = store
        self._own: MemoryOutbox | None = None
        self._following = ExitStack()
        self._open: list[Deliveries] = []
        self.diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def of_store(self) -> Outbox:
        """The outbox of the store; one of this process where it has none, as a diagnostic says."""
        outbox: Outbox | None = getattr(self._store, "outbox", None)
        if outbox is not None:
            return outbox
        if self._own is None:
            message = (
                f"The store {type(self._store).__name__} has no outbox: what is not delivered when this process ends"
                " is never delivered."
            )
            self._note(message)
        return self.of_process

    @property
    def of_process(self) -> MemoryOutbox:
        """The tasks that settle here from the first use on."""
        if self._own is None:
            self._own = MemoryOutbox(lambda: AT_ONCE)
            self._following.enter_context(self._engine.watching_all(_Settling(self._own.add)))
        return self._own

    def tell(self, host: Host, *, is_awaited: Callable[[TaskId], bool], output_max_chars: Callable[[], int]) -> None:
        """Notify a host of each task that settles here while nobody waits for it, other than those of subagents."""
        settled = Deliveries(self.of_process, self._store, Consumer(name="host"), output_max_chars=output_max_chars)

        def tell(task: Task) -> None:
            is_told = task.assignment.parent is not None or is_awaited(task.id)
            for each in settled.pending():
                if not is_told:
                    host.notify(each)

        self._following.enter_context(self._engine.watching_all(_Settling(tell)))

    def deliveries(self, consumer: Consumer, outbox: Outbox, *, output_max_chars: Callable[[], int]) -> Deliveries:
        """Register a consumer, and follow the outbox for it."""
        missed = outbox.register(consumer)
        if missed:
            self._note(
                f"The consumer '{consumer.name}' has missed {missed} settled task(s): it came so late that they had to"
                " make room. Come more often, or raise subagents.taskMaxEntries."
            )
        self._open = [each for each in self._open if not each._has_ended]  # noqa: SLF001  one of us
        opened = Deliveries(outbox, self._store, consumer, output_max_chars=output_max_chars)
        self._open.append(opened)
        return opened

    def _note(self, message: str) -> None:
        self.diagnostics = (*self.diagnostics, Diagnostic(subject="subagents.store", message=message))

    def close(self) -> None:
        """Let everybody who iterates end."""
        for each in self._open:
            each.end()
        self._following.close()


class _Settling:
    """Calls a function with each task that settles."""

    def __init__(self, then: Callable[[Task], None]) -> None:
        self._then = then

    def notify(self, task: Task, event: Event) -> None:
        if type(event) is TaskSettled:
            self._then(task)
