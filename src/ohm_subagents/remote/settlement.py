"""The settlement of one run with a ledger: what that has granted counts there until its usage is stored here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ohm_subagents.contract.usage import NOTHING_USED
from ohm_subagents.contract.wire import AskLeft, AskMessage, CaughtUp, RequestAsked, ResultReported
from ohm_subagents.plugin import Err, Ok, UsageAdded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents.contract.wire import RunReport
    from ohm_subagents.plugin import OhmError, RunRequest, Sink
    from ohm_subagents.remote.answers import Answers
    from ohm_subagents.remote.deposits import Deposits


class Settlement:
    """Claims a run that is taken up, and settles what the ledger has granted to it (`SettlingRun`)."""

    def __init__(self, run_key: str, request: RunRequest, deposits: Deposits | None, asks: Answers) -> None:
        """Without `deposits` there is nothing to settle."""
        self._key = run_key
        self._feed = request.feed
        self._deposits = deposits
        self._asks = asks
        self._heard_ask = 0
        self._has_heard_end = False
        self._left: set[int] = set()
        self._unheard = NOTHING_USED

    @property
    def after_s(self) -> float | None:
        """The seconds of silence after which the ledger is asked; None for never."""
        return None if self._deposits is None else self._deposits.after_s

    @property
    def is_needed(self) -> bool:
        """True if there may be a ledger."""
        return self._deposits is not None

    async def claim(self) -> OhmError | None:
        """Let the ledger grant nothing more to the run, which this process takes up; return why that is not known."""
        if self._deposits is None:
            return None
        position = 0 if self._feed is None else self._feed.position
        match await self._deposits.claim({self._key: position}):
            case Ok(usage):
                self._unheard = usage
                return None
            case Err(lost):
                return lost

    def open(self) -> None:
        """Settle what the ledger tells of, until `close`."""
        if self._deposits is not None:
            self._deposits.open(self._key, self)

    def close(self) -> None:
        """Settle nothing more."""
        if self._deposits is not None:
            self._deposits.close(self._key)

    def end(self) -> None:
        """Let the ledger forget the run, of which all is stored."""
        if self._deposits is not None:
            self._deposits.over(self._key)

    def hear(self, reports: Sequence[RunReport]) -> None:
        """Take in what was heard: a run that has caught up has told all but what it asks again."""
        if self._deposits is None:
            return
        asks = self._deposits.unsettled(self._key)
        is_settling = False
        for report in reports:
            match report:
                case AskMessage(ask=ask):
                    self._heard_ask = max(self._heard_ask, ask)
                case AskLeft(ask=ask):
                    self._left.add(ask)
                    is_settling = True
                case CaughtUp() | ResultReported():
                    self._unheard = NOTHING_USED
                    self._heard_ask = max(self._heard_ask, *asks, 0)
                    self._has_heard_end |= isinstance(report, ResultReported)
                    is_settling |= isinstance(report, CaughtUp)
                case _:
                    pass
        if asks and is_settling:
            self.settle(asks)

    def settle(self, asks: Sequence[int]) -> None:
        """Settle those of these requests that are over, once that is stored (`SettlingRun`)."""
        heard = [one for one in asks if one <= self._heard_ask and not self._asks.is_open(one)]
        if heard and self._feed is not None and self._deposits is not None:
            self._deposits.settle(self._key, heard, stored=self._feed.stored)

    async def count_cancelled(self, sink: Sink, cancel_s: float) -> None:
        """Count what nobody will hear of a run that is cancelled: if its runner is silent, the ledger has so long."""
        if not self._has_heard_end and self._feed is not None and not self._feed.is_left:
            with anyio.move_on_after(cancel_s, shield=True):
                await self.count_unheard(sink, is_lost=True)

    async def count_unheard(self, sink: Sink, *, is_lost: bool) -> OhmError | None:
        """Count what the ledger has granted, and nobody will hear of; return why that is not known.

        A runner that is cut off from this process, which goes on, asks the ledger too before it `is_lost`.
        """
        if is_lost and self._deposits is not None and self._deposits.has(self._key):
            unknown = await self.claim()
            if unknown is not None:
                return unknown
            unheard = {*self._deposits.unsettled(self._key)} - self._left
            self._unheard = replace(self._unheard, requests=min(self._unheard.requests, len(unheard)))
            if not unheard:
                self._unheard = NOTHING_USED
        if self._unheard != NOTHING_USED:
            sink.emit(UsageAdded(usage=self._unheard))
        return None


def catches_up(reports: Sequence[RunReport]) -> bool:
    """Return True if a run has told all that it did, and waits for no model request, whose gate would say so itself."""
    left = {one.ask for one in reports if isinstance(one, AskLeft)}
    if any(isinstance(one, RequestAsked) and one.ask not in left for one in reports):
        return False
    return any(isinstance(one, CaughtUp | ResultReported) for one in reports)
