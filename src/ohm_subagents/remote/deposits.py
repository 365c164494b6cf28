"""The deposits of a submitter with a ledger: the parts of its budgets that it leaves to that alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Protocol

import anyio

from ohm_subagents.contract.usage import NOTHING_USED
from ohm_subagents.contract.wire import VERSIONS, BudgetsDeposited, DepositBudgets, dump, load_as
from ohm_subagents.plugin import UsageAdded
from ohm_subagents.remote.amounts import NO_LIMIT, NOTHING_LEFT, fits, larger, part_of
from ohm_subagents.remote.request import run_key
from ohm_subagents.remote.transport import RunnerLostError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from ohm_subagents.contract.account import Remaining
    from ohm_subagents.plugin import OpenBudget, RunRequest, Sink, Usage
    from ohm_subagents.remote.ledger_service import LedgerTransport


class LedgerLookup(Protocol):
    """Finds a ledger."""

    async def found(self, *, is_begun: bool) -> LedgerTransport | None:
        """Return the ledger; None if there is none, and it is not to be begun. Raises as a transport does."""
        ...


class SettlingRun(Protocol):
    """A run that may have been granted requests by the ledger."""

    def settle(self, asks: Sequence[int]) -> None:
        """Settle those of these requests whose usage was heard, once that is stored."""
        ...


@dataclass(slots=True)
class _Deposit:
    """A budget, and the part of it that its submitter has to leave alone.

    Fields:
        is_awaited: the ledger has granted more of it than what is left beside that: to be settled first.
    """

    budget: OpenBudget
    kept: Remaining = NOTHING_LEFT
    is_awaited: bool = False

    @property
    def is_covered(self) -> bool:
        return fits(self.kept, self.budget.rest())


class Deposits:
    """Tells a ledger what it may grant. One call is under way at a time, for all that waits."""

    def __init__(
        self, lookup: LedgerLookup, group: TaskGroup, *, after_s: float | None = None, retry_s: float = 0.25
    ) -> None:
        """Begin a ledger with the first grant, unless `after_s` is None; what one already has is claimed in any case.

        `after_s` are the seconds of silence after which runners ask it; a call that failed is made again after
        `retry_s`. Calls are made in tasks of `group`.
        """
        self.after_s = after_s
        self._lookup = lookup
        self._group = group
        self._retry_s = retry_s
        self._owner = token_hex(8)
        self._turn = anyio.Lock()
        self._open: dict[str, SettlingRun] = {}
        self._deposits: dict[str, _Deposit] = {}
        self._runs: dict[str, tuple[str, ...]] = {}
        self._told: set[str] = set()
        self._claimed: set[str] = set()
        self._over: set[str] = set()
        self._settled: dict[str, set[int]] = {}
        self._unsettled: dict[str, tuple[int, ...]] = {}
        self._news = anyio.Event()

    def open(self, run_key: str, run: SettlingRun) -> None:
        """Let a run settle what the ledger has granted to it, until `close`."""
        self._open[run_key] = run

    def close(self, run_key: str) -> None:
        """Ask a run no more."""
        self._open.pop(run_key, None)

    async def granted(self, run_key: str, budgets: Sequence[OpenBudget]) -> None:
        """Deposit a part of the budgets of a run whose first request is to be granted; wait until the ledger has it.

        From then on the run can go on without this process.
        """
        if self.after_s is None or run_key not in self._open:
            return
        if run_key not in self._runs:
            self._runs[run_key] = tuple(one.key for one in budgets if one.rest() != NO_LIMIT)
            for one in budgets:
                if one.key in self._runs[run_key] and one.key not in self._deposits:
                    self._deposits[one.key] = _Deposit(one)
                    one.cover = partial(self._cover, self._deposits[one.key])
        if run_key not in self._told:
            await self._tell_news()

    async def claim(self, run_keys: Sequence[str]) -> Usage:
        """Let a ledger grant nothing more to runs that are taken up; return what it has granted, and nobody stored."""
        async with self._turn:
            answer = await self._call(DepositBudgets(owner=self._owner, claims=tuple(run_keys)), is_begun=False)
            if answer is None:
                return NOTHING_USED
            self._claimed.update(run_keys)
            self._unsettled = {one.run_key: one.asks for one in answer.unsettled}
        return sum((one.usage for one in answer.unsettled if one.run_key in run_keys), NOTHING_USED)

    async def count_lost(self, requests: Sequence[RunRequest], sink: Sink) -> None:
        """Count what a ledger has granted to runs that no runner has any more, and let it forget them."""
        keys = [run_key(one) for one in requests]
        usage = await self.claim(keys) if keys else NOTHING_USED
        if usage != NOTHING_USED:
            sink.emit(UsageAdded(usage=usage))
        for key, request in zip(keys, requests, strict=True):
            if request.feed is not None and key in self._claimed:
                await request.feed.stored()
                self.over(key)

    def unsettled(self, run_key: str) -> tuple[int, ...]:
        """Return the requests of a run that the ledger has granted, as far as that is known, and still counts."""
        return self._unsettled.get(run_key, ())

    def settle(self, run_key: str, asks: Iterable[int], *, stored: Callable[[], Awaitable[object]]) -> None:
        """Let the ledger forget requests that it has granted, once their usage is stored, as `stored` waits for."""
        self._group.start_soon(self._settle, run_key, tuple(asks), stored)

    async def _settle(self, run_key: str, asks: Sequence[int], stored: Callable[[], Awaitable[object]]) -> None:
        await stored()
        self._settled.setdefault(run_key, set()).update(asks)
        await self._tell_news()

    def over(self, run_key: str) -> None:
        """Note that all of a run is stored."""
        if run_key in self._runs or run_key in self._claimed:
            self._over.add(run_key)
            self._group.start_soon(self._tell_news)

    async def leave(self) -> None:
        """Tell what waits, as nobody will tell it later."""
        await self._tell_news()

    async def _tell_news(self) -> None:
        async with self._turn:
            if self._over or self._settled or self._runs.keys() - self._told:
                await self._tell()

    async def _cover(self, deposit: _Deposit) -> None:
        """Wait until the ledger grants no more of a budget than what is left of it."""
        while not deposit.is_covered:
            news = self._news
            async with self._turn:
                if not deposit.is_covered:
                    await self._tell()
            if deposit.is_awaited and not deposit.is_covered:
                await news.wait()

    async def _tell(self) -> None:
        """Tell of each budget from which this submitter has taken more than it may, and of what is new of runs."""
        runs = {key: self._runs[key] for key in self._runs.keys() - self._told}
        over, settled = tuple(self._over), {key: tuple(asks) for key, asks in self._settled.items()}
        named = {one for keys in runs.values() for one in keys}
        told = {key: one for key, one in self._deposits.items() if key in named or not one.is_covered}
        parts = {key: part_of(one.budget.rest()) for key, one in told.items()}
        for key, one in told.items():
            one.kept = larger(one.kept, parts[key])  # it counts from when the ledger has it, whenever that is
        message = DepositBudgets(owner=self._owner, budgets=parts, runs=runs, over=over, settled=settled)
        answer = await self._call(message, is_begun=bool(runs or parts))
        if answer is not None:
            for key, kept in answer.budgets.items():
                told[key].kept, told[key].is_awaited = kept, kept != parts[key]
            self._unsettled = {one.run_key: one.asks for one in answer.unsettled}
        self._told |= runs.keys()
        self._forget(over, settled)
        for key, asks in self._unsettled.items():
            if key in self._open:
                self._open[key].settle(asks)

    def _forget(self, over: Iterable[str], settled: Mapping[str, Iterable[int]]) -> None:
        """Forget what the ledger knows now, and the budgets of which no run is left."""
        for key, asks in settled.items():
            self._settled[key].difference_update(asks)
        self._settled = {key: asks for key, asks in self._settled.items() if asks}
        for key in over:
            self._runs.pop(key, None)
            self._told.discard(key)
            self._claimed.discard(key)
            self._over.discard(key)
        if over or settled:
            self._news.set()
            self._news = anyio.Event()
        used = {one for keys in self._runs.values() for one in keys}
        for key in self._deposits.keys() - used:
            gone = self._deposits.pop(key)
            gone.kept, gone.budget.cover = NOTHING_LEFT, None  # who waits for it need not any more

    async def _call(self, message: DepositBudgets, *, is_begun: bool) -> BudgetsDeposited | None:
        """Tell the ledger until it answers; None if there is none."""
        frame = dump(message, version=VERSIONS[0])
        while True:
            try:
                ledger = await self._lookup.found(is_begun=is_begun)
                return None if ledger is None else load_as(BudgetsDeposited, await ledger.post(frame))
            except (UndeliveredError, RunnerLostError):
                await anyio.sleep(self._retry_s)
