"""The model requests of a hosted run while its submitter is silent: a ledger is asked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.contract.usage import NOTHING_USED, ONE_REQUEST
from ohm_subagents.contract.wire import (
    VERSIONS,
    AskLedger,
    Granted,
    LedgerAnswered,
    RequestUsed,
    WireError,
    dump,
    load_as,
)
from ohm_subagents.plugin import UsageAdded
from ohm_subagents.remote.transport import RunnerLostError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ohm_subagents.contract.wire import RequestAsked
    from ohm_subagents.plugin import RunEvent, Usage
    from ohm_subagents.remote.asks import Asks
    from ohm_subagents.remote.deposits import LedgerLookup

RETRY_S: Final = 0.5
"""Seconds between a call to the ledger that failed and the next one."""


class UnattendedRequests:
    """Asks the ledger for what the submitter does not answer, and tells it what that has used.

    Fields:
        after_s: the seconds of silence after which the ledger is asked; None for never.
    """

    def __init__(self, asks: Asks, emit: Callable[[RunEvent], None]) -> None:
        """`emit` reports an event of the run."""
        self.after_s: float | None = None
        self._asks = asks
        self._emit = emit
        self._sent: set[int] = set()
        self._granted: dict[int, Usage] = {}
        self._used: list[RequestUsed] = []
        self._news: anyio.Event | None = None
        asks.on_asked, asks.on_leaving = self._tell_news, self._leave

    def note(self, event: RunEvent) -> None:
        """Count what the run uses for the request that the ledger has granted, if there is one."""
        if isinstance(event, UsageAdded) and self._granted:
            newest = max(self._granted)
            self._granted[newest] += event.usage

    async def serve(self, ledger: LedgerLookup, silent: Callable[[float], Awaitable[None]]) -> None:
        """Ask, and tell, until this is cancelled. `silent` waits until the submitter was silent for so many seconds."""
        while True:
            news = self._news = anyio.Event()
            if self._used:
                await self._call(ledger, ())
            elif self.after_s is not None and self._asks.unanswered():
                await self._until(news, silent, self.after_s)
                asks = [] if news.is_set() else self._asks.unanswered()
                if asks:
                    await self._call(ledger, asks)
            else:
                await news.wait()

    async def _until(self, news: anyio.Event, silent: Callable[[float], Awaitable[None]], after_s: float) -> None:
        async with anyio.create_task_group() as group:

            async def heard() -> None:
                await news.wait()
                group.cancel_scope.cancel()

            group.start_soon(heard)
            await silent(after_s)
            group.cancel_scope.cancel()

    async def _call(self, lookup: LedgerLookup, asks: Sequence[RequestAsked]) -> None:
        """Ask for requests, and tell of those that are over; a call that fails is made again later."""
        used = tuple(self._used)
        self._sent.update(one.ask for one in asks)
        frames = tuple(dump(one, version=VERSIONS[0]) for one in asks)
        message = AskLedger(asks=frames, used=used)
        granted: list[Granted] = []
        try:
            ledger = await lookup.found(is_begun=False)
            answer = None if ledger is None else await ledger.post(dump(message, version=VERSIONS[0]))
            answers = () if answer is None else load_as(LedgerAnswered, answer).answers
            granted = [load_as(Granted, one) for one in answers]
        except (UndeliveredError, RunnerLostError, WireError):
            answer = None
        if answer is None:
            await anyio.sleep(RETRY_S)
            return
        del self._used[: len(used)]
        for one in granted:
            self._take(one)

    def _take(self, granted: Granted) -> None:
        if self._asks.answer(granted):
            self._granted[granted.ask] = NOTHING_USED
        elif granted.ask not in self._granted:  # the submitter has answered, or the run needs it no more
            self._used.append(RequestUsed(run_key=granted.run_key, ask=granted.ask))

    def _leave(self, ask: int) -> None:
        """Tell the ledger what a request has used; one that has told nothing counts as made."""
        if ask in self._granted:
            if self._granted[ask] == NOTHING_USED:
                self._emit(UsageAdded(usage=ONE_REQUEST))
            usage = self._granted.pop(ask)
            told = self._asks.next_n() - 1
            self._used.append(RequestUsed(run_key=self._asks.run_key, ask=ask, usage=usage, told=told))
        elif ask in self._sent:
            self._used.append(RequestUsed(run_key=self._asks.run_key, ask=ask))
        self._sent.discard(ask)
        self._tell_news()

    def _tell_news(self) -> None:
        if self._news is not None:
            self._news.set()
