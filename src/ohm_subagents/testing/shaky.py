"""A transport for tests that delays, duplicates, reorders and drops what it carries, by a seed."""

from __future__ import annotations

from random import Random  # noqa: TID251  a seed plays the same faults again
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents.remote import RunnerLostError, Transport, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents.contract.wire import WireObject

_DELAYS: Final = 4
_KEPT: Final = 8


class ShakyTransport:
    """Stands between a submitter and a runner in the same process; the same seed plays the same faults.

    A call may come late, twice, or once more after later ones; it or its answer may be dropped, which is an
    `UndeliveredError`; and a poll may get the answer of an earlier one.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        seed: int,
        faults: float = 0.2,
        versions: tuple[int, ...] | None = None,
    ) -> None:
        """`faults` is the share of calls that each kind of fault befalls.

        `versions` of messages are those that the runner says it knows; None for its own.
        """
        self.frames: list[WireObject] = []
        """Everything that was carried so far, both ways."""
        self._transport = transport
        self._random = Random(seed)  # noqa: S311  faults of a test, no secret
        self._faults = faults
        self._versions = versions
        self._earlier: list[tuple[Callable[[WireObject], Awaitable[WireObject]], WireObject]] = []
        self._fed: list[WireObject] = []
        self._lost = anyio.Event()

    def lose(self) -> None:
        """Let the runner be gone, in the middle of whatever it does."""
        self._lost.set()

    async def hello(self) -> WireObject:
        """Return the runner's `Hello`."""
        await self._delay()
        if self._befalls():
            raise UndeliveredError
        hello = await self._transport.hello()
        return hello if self._versions is None else {**hello, "versions": [*self._versions]}

    async def post(self, frame: WireObject) -> WireObject:
        """Hand over a `Post`, perhaps."""
        return await self._carried(self._transport.post, frame, frame)

    async def feed(self, frame: WireObject) -> WireObject:
        """Hand over a `Poll`, perhaps."""
        answer = await self._carried(self._transport.feed, frame, {**frame, "wait_s": 0})
        self._fed = [*self._fed[-_KEPT:], answer]
        return self._random.choice(self._fed) if self._befalls() else answer

    async def _carried(
        self, call: Callable[[WireObject], Awaitable[WireObject]], frame: WireObject, again: WireObject
    ) -> WireObject:
        """Make a call; `again` is the frame of one that comes once more, and is not waited for."""
        await self._delay()
        if self._earlier and self._befalls():
            late, old = self._random.choice(self._earlier)
            await late(old)
        if self._befalls():
            raise UndeliveredError
        self.frames.append(frame)
        answer = await self._unless_lost(call, frame)
        self.frames.append(answer)
        if self._befalls():
            await call(again)
        self._earlier = [*self._earlier[-_KEPT:], (call, again)]
        await self._delay()
        if self._befalls():
            raise UndeliveredError
        return answer

    async def _unless_lost(self, call: Callable[[WireObject], Awaitable[WireObject]], frame: WireObject) -> WireObject:
        answer: WireObject | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._until_lost, group.cancel_scope)
            answer = await call(frame)
            group.cancel_scope.cancel()
        if answer is None:
            gone = "It was killed."
            raise RunnerLostError(gone)
        return answer

    async def _until_lost(self, scope: anyio.CancelScope) -> None:
        await self._lost.wait()
        scope.cancel()

    async def _delay(self) -> None:
        for _ in range(self._random.randrange(_DELAYS)):
            await checkpoint()

    def _befalls(self) -> bool:
        return self._random.random() < self._faults
