"""Budgets of a task and everything below it: one ledger a budget, each charged with its whole subtree."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from ohm_subagents._plugins.backends.gate import RequestNeed
    from ohm_subagents.contract.events import Guard
    from ohm_subagents.contract.limits import Budget
    from ohm_subagents.contract.usage import Usage

ANSWER_TOKENS: Final = 16_384
"""Tokens that are reserved for an answer when the request does not limit it."""
LAST_TOKENS: Final = 2048
"""With fewer tokens than this left for an answer, no other request is possible after it."""
NOTHING: Final = Decimal(0)


@dataclass(frozen=True, slots=True)
class BudgetExceeded:
    """A budget that does not allow what was asked for."""

    guard: Guard
    error: OhmError
    may_return: bool = False
    """True if something is reserved now that may be given back."""


@dataclass(slots=True, eq=False)
class Reservation:
    """The part of the budgets that one model request holds until it is over."""

    requests: int = 0
    tokens: int = 0
    cost_usd: Decimal = NOTHING
    max_output_tokens: int | None = None
    """The longest answer that was reserved; None if no budget limits it."""
    last_of: Guard | None = None
    """The budget that allows no further request."""

    def reserve_answer(self, need: RequestNeed, left: int, of: Guard) -> int:
        """Reserve an answer of at most `left` tokens; return how long it may be."""
        most = min(left, need.max_output_tokens or ANSWER_TOKENS, self.max_output_tokens or left)
        if left < LAST_TOKENS:
            self.last_of = of
        self.max_output_tokens = most
        return most


class Spending:
    """One budget, what was spent of it, and what is reserved.

    Fields:
        owner: names the limit's place in error messages.
        level: the depth at which its owner runs.
        wall_at: when the wall clock ends, in seconds of the event loop's clock; infinite before the first run.
    """

    def __init__(self, budget: Budget, *, owner: str, level: int) -> None:
        self.budget = budget
        self.owner = owner
        self.level = level
        self.requests = self.tokens = self.tool_calls = self.spawns = 0
        self.cost_usd = NOTHING
        self.reserved = Reservation()
        self.wall_at = math.inf

    def hold(self, reservation: Reservation, sign: int) -> None:
        """Add a reservation, or with sign -1 take it away."""
        self.reserved.requests += sign * reservation.requests
        self.reserved.tokens += sign * reservation.tokens
        self.reserved.cost_usd += sign * reservation.cost_usd

    @property
    def has_no_more_requests(self) -> bool:
        """Return True if no further request is left, beside those that go on."""
        limit = self.budget.requests
        return limit is not None and self.requests + self.reserved.requests >= limit

    def exceeded(self) -> BudgetExceeded | None:
        """Return this budget if more was spent than it has."""
        budget = self.budget
        if budget.tool_calls is not None and self.tool_calls > budget.tool_calls:
            return BudgetExceeded("tool_calls", self.spent("toolCalls", budget.tool_calls, "tool calls"))
        if budget.requests is not None and self.requests > budget.requests:
            return self._no_requests(budget.requests)
        if budget.tokens is not None and self.tokens > budget.tokens:
            return self._no_tokens(budget.tokens)
        if budget.cost_usd is not None and self.cost_usd > budget.cost_usd:
            return self._no_money(budget.cost_usd)
        return None

    def fit(self, wanted: Reservation, need: RequestNeed | None) -> BudgetExceeded | None:
        """Lower what is `wanted` to what is left, or return what forbids it."""
        if self.has_no_more_requests:
            return self._no_requests(self.budget.requests or 0)
        return None if need is None else self._fit_tokens(wanted, need) or self._fit_money(wanted, need)

    def _fit_tokens(self, wanted: Reservation, need: RequestNeed) -> BudgetExceeded | None:
        limit = self.budget.tokens
        if limit is None:
            return None
        left = limit - self.tokens - self.reserved.tokens - need.input_tokens
        if left < 1:
            return self._no_tokens(limit, need.input_tokens)
        wanted.tokens = max(wanted.tokens, need.input_tokens + wanted.reserve_answer(need, left, "tokens"))
        return None

    def _fit_money(self, wanted: Reservation, need: RequestNeed) -> BudgetExceeded | None:
        limit = self.budget.cost_usd
        if limit is None:
            return None
        if need.price is None:
            return BudgetExceeded("cost", self.unpriced(need))
        asked = need.price(need.input_tokens, 0)
        each = (need.price(need.input_tokens, 1000) - asked) / 1000
        left = limit - self.cost_usd - self.reserved.cost_usd - asked
        if left < each:
            return self._no_money(limit)
        answer = wanted.reserve_answer(need, int(left / each) if each else ANSWER_TOKENS, "cost")
        wanted.cost_usd = max(wanted.cost_usd, asked + each * answer)
        return None

    def too_deep(self, level: int) -> OhmError | None:
        """Return why no task may be started at this depth."""
        depth = self.budget.depth
        if depth is None or level - self.level <= depth:
            return None
        limit = self.level + depth
        return OhmError(
            code=ErrorCode.DEPTH_EXCEEDED,
            message=f"No subagent may be started at depth {level}: the limit of {self.owner} is {limit}.",
            advice="Do the work yourself, or raise subagents.budget.depth in ohm.json.",
        )

    def no_spawn(self) -> OhmError | None:
        """Return why no further task may be started."""
        limit = self.budget.spawns
        return None if limit is None or self.spawns < limit else self.spent("spawns", limit, "tasks of subagents")

    def _no_requests(self, limit: int) -> BudgetExceeded:
        return BudgetExceeded("requests", self.spent("requests", limit, "model requests"))

    def _no_tokens(self, limit: int, asked: int = 0) -> BudgetExceeded:
        error = self.spent("tokens", limit, "tokens")
        if asked:
            fact = f"The budget of {limit} tokens of {self.owner} has {max(0, limit - self.tokens)} left, and the next "
            error = replace(error, message=f"{fact}request takes {asked} or more.")
        return BudgetExceeded("tokens", error, may_return=self.reserved.tokens > 0)

    def _no_money(self, limit: Decimal) -> BudgetExceeded:
        may_return = self.reserved.cost_usd > 0
        return BudgetExceeded("cost", self.spent("costUsd", limit, "US dollars"), may_return=may_return)

    def unpriced(self, need: RequestNeed) -> OhmError:
        """Return the error of a cost budget whose model has no known price."""
        return OhmError(
            code=ErrorCode.BUDGET_UNENFORCEABLE,
            message=f"The budget of {self.budget.cost_usd} US dollars of {self.owner} cannot be kept: the price of "
            f"'{need.provider}/{need.model}' is unknown.",
            advice="Choose a model with a known price, or set a budget of requests or tokens.",
        )

    def spent(self, name: str, limit: int | Decimal, what: str) -> OhmError:
        """Return the error of a limit that is used up; `name` is its key in `budget`."""
        return OhmError(
            code=ErrorCode.BUDGET_EXCEEDED,
            message=f"The budget of {limit} {what} of {self.owner} is spent.",
            advice=f"What was done so far is kept; raise budget.{name}, or ask for less.",
        )


class Ledger:
    """The budgets that a task is charged to, its own first: a charge counts in all of them, or in none.

    Fields:
        budgets: what was spent of each.
        waiters: wait until something that was reserved is given back.
        counts_tokens_or_cost: a backend has to report its usage for the budgets to be kept.
    """

    def __init__(self, budget: Budget, *, owner: str, level: int, parent: Ledger | None = None) -> None:
        """Make a ledger whose `owner` names the limit's place in error messages, and runs at depth `level`."""
        above = () if parent is None else parent.budgets
        self.budgets: tuple[Spending, ...] = (Spending(budget, owner=owner, level=level), *above)
        self.waiters: list[anyio.Event] = [] if parent is None else parent.waiters
        counts = budget.tokens is not None or budget.cost_usd is not None
        self.counts_tokens_or_cost: bool = counts or (parent is not None and parent.counts_tokens_or_cost)

    def begin(self, now: float) -> float:
        """Start the wall clocks with the first run; return when the first ends (event loop's clock)."""
        ends = math.inf
        for one in self.budgets:
            if one.budget.wall_ms is not None and one.wall_at == math.inf:
                one.wall_at = now + one.budget.wall_ms / 1000
            ends = min(ends, one.wall_at)
        return ends

    def out_of_time(self) -> BudgetExceeded:
        """Return the error of the wall clock that ended first."""
        first = min(self.budgets, key=lambda one: one.wall_at)
        return BudgetExceeded("wall", first.spent("wallMs", first.budget.wall_ms or 0, "milliseconds"))

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

    def release(self, reservation: Reservation) -> None:
        """Give a reservation back."""
        for one in self.budgets:
            one.hold(reservation, -1)
        for waiter in self.waiters:
            waiter.set()
        self.waiters.clear()

    def commit(self, reservation: Reservation) -> None:
        """Charge a request whose usage was not reported."""
        for one in self.budgets:
            one.requests += reservation.requests
        self.release(reservation)

    def spend(self, usage: Usage, reservation: Reservation | None) -> BudgetExceeded | None:
        """Charge reported usage, in place of its reservation if it had one; return the budget that it exceeds."""
        tokens, cost_usd = usage.input_tokens + usage.output_tokens, usage.cost_usd
        if reservation is not None:
            self.release(reservation)
            tokens = tokens or reservation.tokens  # a count that is missing is taken from the reservation
            cost_usd = reservation.cost_usd if cost_usd is None else cost_usd
        for one in self.budgets:
            one.requests += usage.requests
            one.tokens += tokens
            one.cost_usd += cost_usd or NOTHING
        return self._exceeded()

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        """Return an error if a cost budget is set and the price is unknown. Reserves nothing."""
        return next((one.unpriced(need) for one in self.budgets if one.budget.cost_usd is not None), None)

    async def released(self) -> None:
        """Wait until something that was reserved anywhere in the tree is given back."""
        waiter = anyio.Event()
        self.waiters.append(waiter)
        await waiter.wait()

    def _exceeded(self) -> BudgetExceeded | None:
        return next((exceeded for one in self.budgets if (exceeded := one.exceeded()) is not None), None)
