"""Budgets of a task and everything below it: one ledger a budget, each charged with its whole subtree."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeVar

import anyio

from ohm_subagents._orchestrator.spending import NOTHING, BudgetExceeded, Reservation, Spending, rest_of
from ohm_subagents.contract.account import Remaining

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents._plugins.backends.gate import RequestNeed
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Guard
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.limits import Budget
    from ohm_subagents.contract.usage import Usage

Amount = TypeVar("Amount", int, Decimal)
_UNLIMITED: Final = Reservation(requests=1)
"""Of a ledger that limits no use: nothing is taken from anybody, and nothing has to be given back."""


class Ledger:
    """The budgets that a task is charged to, its own first: a charge counts in all of them, or in none.

    Fields:
        budgets: what was spent of each.
        waiters: wait until something that was reserved is given back.
        limits_use: any of them limits requests, tokens, dollars, tool calls or time.
        counts_tokens_or_cost: a backend has to report its usage for the budgets to be kept.
    """

    def __init__(self, budget: Budget, *, owner: str, level: int, parent: Ledger | None = None) -> None:
        """Make a ledger whose `owner` names the limit's place in error messages, and runs at depth `level`."""
        above = () if parent is None else parent.budgets
        self.budgets: tuple[Spending, ...] = (Spending(budget, owner=owner, level=level), *above)
        self.waiters: list[anyio.Event] = [] if parent is None else parent.waiters
        counts = budget.tokens is not None or budget.cost_usd is not None
        limits_use = counts or not (budget.requests is budget.tool_calls is budget.wall_ms is None)
        if parent is None:
            self.counts_tokens_or_cost, self.limits_use = counts, limits_use
        else:
            self.counts_tokens_or_cost = counts or parent.counts_tokens_or_cost
            self.limits_use = limits_use or parent.limits_use

    def begin(self, now: float, epoch_ms: Clock) -> float:
        """Start the wall clocks with the first run; return when the first ends (event loop's clock).

        `epoch_ms` gives the time in epoch milliseconds.
        """
        return min(one.begin(now, epoch_ms) for one in self.budgets) if self.limits_use else math.inf

    def park(self, now: float) -> None:
        """Stop the wall clocks: the task waits for an answer, or one below it."""
        for one in self.budgets:
            one.park(now)

    def unpark(self, now: float) -> None:
        """Let the wall clocks go on."""
        for one in self.budgets:
            one.unpark(now)

    def out_of_time(self) -> BudgetExceeded:
        """Return the error of the wall clock that ended first."""
        first = min(self.budgets, key=lambda one: one.wall_at)
        return BudgetExceeded("wall", first.spent("wallMs", first.budget.wall_ms or 0, "millisecond"))

    def spawn(self, level: int) -> OhmError | None:
        """Charge one task at this depth, or return the limit that forbids it. Tasks at level 1 are free."""
        for one in self.budgets:
            refused = one.too_deep(level) or (one.no_spawn() if level > 1 else None)
            if refused is not None:
                return refused
        for one in self.budgets:
            one.spawns += level > 1
        return None

    def call_tool(self) -> BudgetExceeded | None:
        """Charge one tool call; return the budget that it exceeds."""
        for one in self.budgets:
            one.tool_calls += 1
        return self._exceeded()

    def reserve(self, need: RequestNeed | None = None) -> Reservation | BudgetExceeded:
        """Reserve one model request, or return the budget that forbids it. First come, first served."""
        if not self.limits_use:
            return _UNLIMITED
        wanted = Reservation(requests=1)
        for one in self.budgets:
            exceeded = one.fit(wanted, need)
            if exceeded is not None:
                return exceeded
        for one in self.budgets:
            one.hold(wanted, 1)
            if one.has_no_more_requests:
                wanted.last_of = "requests"
        return wanted

    async def covered(self) -> OhmError | None:
        """Wait until what was reserved may be granted, where others grant a part of a budget; or return why not."""
        for one in self.budgets:
            uncovered = None if one.cover is None else await one.cover()
            if uncovered is not None:
                return uncovered
        return None

    def spent(self) -> tuple[tuple[int, int, Decimal], ...]:
        """Return what was spent of each budget so far, to be compared with what it is later."""
        return tuple((one.requests, one.tokens, one.cost_usd) for one in self.budgets)

    def expect(self) -> Callable[[], None]:
        """Let every request wait until the returned function is called: a run that goes on may have made some."""
        limits = [one for one in self.budgets if one.limits_requests]
        for one in limits:
            one.unheard += 1

        def heard() -> None:
            while limits:
                limits.pop().unheard -= 1
            self._wake()

        return heard

    def release(self, reservation: Reservation) -> None:
        """Give a reservation back."""
        if reservation is _UNLIMITED:
            return
        for one in self.budgets:
            one.hold(reservation, -1)
        self._wake()

    def commit(self, reservation: Reservation) -> None:
        """Charge a request whose usage was not reported."""
        self.release(self.count(reservation))

    def count(self, reservation: Reservation) -> Reservation:
        """Charge the request of a reservation, and return the rest of it, for what the request may yet use."""
        for one in self.budgets:
            one.requests += reservation.requests
        if reservation is _UNLIMITED:
            return reservation
        rest = replace(reservation, requests=0)
        for one in self.budgets:
            one.hold(reservation, -1)
            one.hold(rest, 1)
        return rest

    def spend(self, usage: Usage, reservation: Reservation | None) -> BudgetExceeded | None:
        """Charge reported usage, in place of its reservation if it had one; return the budget that it exceeds."""
        tokens, cost_usd = usage.input_tokens + usage.output_tokens, usage.cost_usd
        if reservation is not None:
            self.release(reservation)
            tokens = tokens or reservation.tokens  # a count that is missing is taken from the reservation
            cost_usd = reservation.cost_usd if cost_usd is None else cost_usd
        _charge(self.budgets, usage, tokens, cost_usd)
        return self._exceeded()

    def spend_before(self, usage: Usage, *, known: Ledger | None, spawns: int = 0) -> None:
        """Charge what was used before this ledger was made, but in the budgets of `known`, which have it already."""
        own = self.budgets if known is None else self.budgets[: len(self.budgets) - len(known.budgets)]
        for one in own:
            one.spawns += spawns
        _charge(own, usage, usage.input_tokens + usage.output_tokens, usage.cost_usd)

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        """Return an error if a cost budget is set and the price is unknown. Reserves nothing."""
        return next((one.unpriced(need) for one in self.budgets if one.budget.cost_usd is not None), None)

    async def released(self) -> None:
        """Wait until something that was reserved anywhere in the tree is given back."""
        waiter = anyio.Event()
        self.waiters.append(waiter)
        await waiter.wait()

    def limits(self, level: int) -> bool:
        """Return True if any number limits a task at this depth."""
        return self.limits_use or (
            self._may_spawn(level) and any(one.budget.spawns is not None for one in self.budgets)
        )

    def remaining(self, level: int) -> Remaining:
        """Return the rest of all budgets, the smallest of each, for a task at this depth."""
        budgets = self.budgets
        spawns = (rest_of(one.budget.spawns, one.spawns) for one in budgets) if self._may_spawn(level) else ()
        return Remaining(
            requests=_least(rest_of(one.budget.requests, one.requests) for one in budgets),
            tokens=_least(rest_of(one.budget.tokens, one.tokens) for one in budgets),
            cost_usd=_least(rest_of(one.budget.cost_usd, one.cost_usd) for one in budgets),
            tool_calls=_least(rest_of(one.budget.tool_calls, one.tool_calls) for one in budgets),
            spawns=_least(spawns),
            wall_ends_ms=_least(one.wall_ends_ms for one in budgets),
        )

    def scarce(self) -> Iterable[tuple[Guard, int | Decimal, int | Decimal]]:
        """Yield each limit on use of which a fifth or less is left, or one request: what is left, and the limit."""
        for one in self.budgets:
            for name, left, limit in one.left():
                if 0 < left < limit and (left * 5 <= limit or (name == "requests" and left == 1)):
                    yield name, left, limit

    def _wake(self) -> None:
        for waiter in self.waiters:
            waiter.set()
        self.waiters.clear()

    def _may_spawn(self, level: int) -> bool:
        for one in self.budgets:
            depth = one.budget.depth
            if depth is not None and level + 1 - one.level > depth:
                return False
        return True

    def _exceeded(self) -> BudgetExceeded | None:
        return next((exceeded for one in self.budgets if (exceeded := one.exceeded()) is not None), None)


def _charge(budgets: Iterable[Spending], usage: Usage, tokens: int, cost_usd: Decimal | None) -> None:
    for one in budgets:
        one.requests += usage.requests
        one.tokens += tokens
        one.cost_usd += cost_usd or NOTHING
        one.tool_calls += usage.tool_calls


def _least(rests: Iterable[Amount | None]) -> Amount | None:
    return min((rest for rest in rests if rest is not None), default=None)
