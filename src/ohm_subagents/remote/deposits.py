"""The deposits of a submitter with a ledger: the parts of its budgets that it leaves to that alone."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from ohm_subagents.contract.usage import NOTHING_USED
from ohm_subagents.contract.wire import VERSIONS, BudgetsDeposited, DepositBudgets, dump, load_as
from ohm_subagents.plugin import Err, ErrorCode, OhmError, Ok, UsageAdded
from ohm_subagents.remote.amounts import NO_LIMIT, NOTHING_LEFT, fits, larger, part_of, unrecorded
from ohm_subagents.remote.ledger_service import LEDGER_IDLE_S
from ohm_subagents.remote.request import run_key
from ohm_subagents.remote.transport import RunnerLostError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from ohm_subagents.contract.account import Remaining
    from ohm_subagents.plugin import OpenBudget, Result, RunRequest, Sink, Usage
    from ohm_subagents.remote.ledger_service import LedgerTransport
    from ohm_subagents.remote.link import Patience


SETTLED_S: Final = 1.0
"""Seconds after which a ledger is asked again that has granted too much: it hears of runners too, and calls nobody."""
LAST_TRY_S: Final = 1.0
"""Seconds for one more try, once the ledger was silent for too long."""


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
        self,
        lookup: LedgerLookup,
        group: TaskGroup,
        patience: Patience,
        *,
        after_s: float | None = None,
        idle_s: float = LEDGER_IDLE_S,
    ) -> None:
        """Begin a ledger with the first grant, unless `after_s` is None; what one already has is claimed in any case.

        `after_s` are the seconds of silence after which runners ask it, `idle_s` those without a call after which it
        ends. One that does not answer is waited for as a runner is. Calls are made in tasks of `group`.
        """
        self.after_s = after_s
        self._lookup = lookup
        self._group = group
        self._patience = patience
        self._idle_s = idle_s
        self._silent_at: float | None = None
        self._lost: OhmError | None = None
        self._losses = 0
        self._stays = False
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

    async def granted(self, run_key: str, budgets: Sequence[OpenBudget]) -> OhmError | None:
        """Deposit a part of the budgets of a run whose first request is to be granted; wait until the ledger has it.

        From then on the run can go on without this process. Returns the error of a ledger that does not answer.
        """
        if self.after_s is None or run_key not in self._open:
            return None
        if not self._stays:
            self._stays = True
            self._group.start_soon(self._stay)
        if run_key not in self._runs:
            self._runs[run_key] = tuple(one.key for one in budgets if one.rest() != NO_LIMIT)
            for one in budgets:
                if one.key in self._runs[run_key] and one.key not in self._deposits:
                    self._deposits[one.key] = _Deposit(one)
                    one.cover = partial(self._cover, self._deposits[one.key])
        return None if run_key in self._told else await self._tell_news()

    async def _stay(self) -> None:
        """Have the ledger there as long as there are runs: it ends where nobody has called it for long."""
        while True:
            await anyio.sleep(self._idle_s / 3)
            async with self._in_turn() as lost:
                if self._runs and lost is None:
                    await self._call(DepositBudgets(owner=self._owner), is_begun=False)

    async def claim(self, positions: Mapping[str, int]) -> Result[Usage, OhmError]:
        """Let a ledger grant nothing more to runs that are taken up; return what it has granted, and nobody stored.

        `positions` has by the key of each run the number of its last report that is recorded.
        """
        async with self._in_turn() as lost:
            if lost is not None:
                return Err(lost)
            called = await self._call(DepositBudgets(owner=self._owner, claims=tuple(positions)), is_begun=False)
            if isinstance(called, Err):
                return called
            answer = called.ok_value
            if answer is None:
                return Ok(NOTHING_USED)
            self._claimed.update(positions)
            self._unsettled = {one.run_key: one.asks for one in answer.unsettled}
        claimed = (one for one in answer.unsettled if one.run_key in positions)
        return Ok(sum((unrecorded(one, positions[one.run_key]) for one in claimed), NOTHING_USED))

    async def count_lost(self, requests: Sequence[RunRequest], sink: Sink) -> OhmError | None:
        """Count what a ledger has granted to runs that no runner has any more, and let it forget them."""
        keys = [run_key(one) for one in requests]
        positions = [0 if one.feed is None else one.feed.position for one in requests]
        claimed = await self.claim(dict(zip(keys, positions, strict=True))) if keys else Ok(NOTHING_USED)
        if isinstance(claimed, Err):
            return claimed.err_value
        if claimed.ok_value != NOTHING_USED:
            sink.emit(UsageAdded(usage=claimed.ok_value))
        for key, request in zip(keys, requests, strict=True):
            if request.feed is not None and key in self._claimed:
                await request.feed.stored()
                self.over(key)
        return None

    def has(self, run_key: str) -> bool:
        """Return True if the ledger may grant requests to a run by what this submitter has deposited."""
        return run_key in self._runs

    def unsettled(self, run_key: str) -> tuple[int, ...]:
        """Return the requests of a run that the ledger has granted, as far as that is known, and still counts."""
        return self._unsettled.get(run_key, ())

    def settle(self, run_key: str, asks: Iterable[int], *, stored: Callable[[], Awaitable[object]]) -> None:
        """Let the ledger forget requests that it has granted, once their usage is stored, as `stored` waits for."""
        self._group.start_soon(self._settle, run_key, tuple(asks), stored)

    async def _settle(self, run_key: str, asks: Sequence[int], stored: Callable[[], Awaitable[object]]) -> None:
        await stored()
        self._settled.setdefault(run_key, set()).update(asks)
        await self.leave()

    def over(self, run_key: str) -> None:
        """Note that all of a run is stored."""
        if run_key in self._runs or run_key in self._claimed:
            self._over.add(run_key)
            self._group.start_soon(self.leave)

    async def leave(self) -> None:
        """Tell what waits, as nobody may tell it later; the next call tells what a lost ledger has not heard."""
        await self._tell_news()

    async def _tell_news(self) -> OhmError | None:
        async with self._in_turn() as lost:
            if lost is None and (self._over or self._settled or self._runs.keys() - self._told):
                return await self._tell()
        return lost

    async def _cover(self, deposit: _Deposit) -> OhmError | None:
        """Wait until the ledger grants no more of a budget than what is left of it; or return why nobody knows."""
        while not deposit.is_covered:
            news = self._news
            async with self._in_turn() as lost:
                told = await self._tell() if lost is None and not deposit.is_covered else lost
            if told is not None:
                return told
            if deposit.is_awaited and not deposit.is_covered:
                with anyio.move_on_after(SETTLED_S):
                    await news.wait()
        return None

    @asynccontextmanager
    async def _in_turn(self) -> AsyncGenerator[OhmError | None]:
        """Wait until no other call is under way; the error of one that failed meanwhile is that of all who waited."""
        losses = self._losses
        async with self._turn:
            yield None if losses == self._losses else self._lost

    async def _tell(self) -> OhmError | None:
        """Tell of each budget from which this submitter has taken more than it may, and of what is new of runs."""
        runs = {key: self._runs[key] for key in self._runs.keys() - self._told}
        over, settled = tuple(self._over), {key: tuple(asks) for key, asks in self._settled.items()}
        named = {one for keys in runs.values() for one in keys}
        told = {key: one for key, one in self._deposits.items() if key in named or not one.is_covered}
        parts = {key: part_of(one.budget.rest()) for key, one in told.items()}
        for key, one in told.items():
            one.kept = larger(one.kept, parts[key])  # it counts from when the ledger has it, whenever that is
        message = DepositBudgets(owner=self._owner, budgets=parts, runs=runs, over=over, settled=settled)
        called = await self._call(message, is_begun=bool(runs or parts))
        if isinstance(called, Err):
            return called.err_value
        answer = called.ok_value
        if answer is not None:
            for key, kept in answer.budgets.items():
                told[key].kept, told[key].is_awaited = kept, kept != parts[key]
            self._unsettled = {one.run_key: one.asks for one in answer.unsettled}
        self._told |= runs.keys()
        self._forget(over, settled)
        for key, asks in self._unsettled.items():
            if key in self._open:
                self._open[key].settle(asks)
        return None

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

    async def _call(self, message: DepositBudgets, *, is_begun: bool) -> Result[BudgetsDeposited | None, OhmError]:
        """Tell the ledger until it answers; None if there is none. One that was silent for long has one more try."""
        frame = dump(message, version=VERSIONS[0])
        now = anyio.current_time()
        until = (now if self._silent_at is None else self._silent_at) + self._patience.lost_s
        with anyio.move_on_after(max(until - now, LAST_TRY_S)):
            while True:
                try:
                    ledger = await self._lookup.found(is_begun=is_begun)
                    answer = None if ledger is None else load_as(BudgetsDeposited, await ledger.post(frame))
                except (UndeliveredError, RunnerLostError):
                    await anyio.sleep(self._patience.retry_s)
                else:
                    self._silent_at = None
                    return Ok(answer)
        self._silent_at = now if self._silent_at is None else self._silent_at
        self._losses, self._lost = self._losses + 1, _unanswered(self._patience.lost_s)
        return Err(self._lost)


def _unanswered(silent_s: float) -> OhmError:
    return OhmError(
        code=ErrorCode.BACKEND_FAILED,
        message=f"The ledger, which has a part of the budgets, has not answered for {silent_s:g} s.",
        advice="See that the head of the cluster runs, or remove ledgerAfterMs; what was reported is kept.",
        retryable=True,
    )
