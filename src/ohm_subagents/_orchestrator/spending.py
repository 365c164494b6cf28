"""One budget, and what was spent and reserved of it by a task and everything below it."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from secrets import token_hex
from typing import TYPE_CHECKING, Final, TypeVar

from ohm_subagents._records import dataclass
from ohm_subagents.contract.account import Remaining
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents._plugins.backends.gate import RequestNeed
    from ohm_subagents.contract.events import Guard
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.limits import Budget

Amount = TypeVar("Amount", int, Decimal)
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
        wall_at: when the wall clock ends, in seconds of the event loop's clock; infinite before the first run. A wait
            for an answer puts it off.
        unheard: the runs that go on from another process, and of which nobody knows yet what they have used.
        wall_ends_ms: the same in epoch milliseconds; None before the first run, and without a wall clock.
        cover: awaited before a request is granted that was reserved here, and returns why it may not be; None for
            nothing to wait for.
    """

    def __init__(self, budget: Budget, *, owner: str, level: int) -> None:
        self.budget = budget
        self.owner = owner
        self.level = level
        self.requests = self.tokens = self.tool_calls = self.spawns = 0
        self.cost_usd = NOTHING
        self.reserved = Reservation()
        self.wall_at = math.inf
        self.wall_ends_ms: int | None = None
        self.unheard = 0
        self.cover: Callable[[], Awaitable[OhmError | None]] | None = None
        self._key = ""
        self._parks = 0
        self._parked_at = 0.0

    @property
    def key(self) -> str:
        """The name of the budget: no other one has it, in any process."""
        self._key = self._key or token_hex(8)
        return self._key

    def rest(self) -> Remaining:
        """Return what is neither spent nor reserved (`OpenBudget`)."""
        budget, reserved = self.budget, self.reserved
        return Remaining(
            requests=rest_of(budget.requests, self.requests + reserved.requests),
            tokens=rest_of(budget.tokens, self.tokens + reserved.tokens),
            cost_usd=rest_of(budget.cost_usd, self.cost_usd + reserved.cost_usd),
            tool_calls=rest_of(budget.tool_calls, self.tool_calls),
            wall_ends_ms=self.wall_ends_ms,
        )

    def begin(self, now: float, epoch_ms: Clock) -> float:
        """Start the wall clock, if it has not begun; return when it ends, as far as is known now."""
        if self.budget.wall_ms is not None and self.wall_at == math.inf:
            self.wall_at = now + self.budget.wall_ms / 1000
            self.wall_ends_ms = epoch_ms() + self.budget.wall_ms
        return self.wall_at + (now - self._parked_at) if self._parks else self.wall_at

    def park(self, now: float) -> None:
        """Stop the wall clock: something that is charged here waits for an answer."""
        if not self._parks:
            self._parked_at = now
        self._parks += 1

    def unpark(self, now: float) -> None:
        """Let the wall clock go on: the time of the wait does not count."""
        self._parks -= 1
        if not self._parks and self.wall_ends_ms is not None:
            waited = now - self._parked_at
            self.wall_at += waited
            self.wall_ends_ms += round(waited * 1000)

    def hold(self, reservation: Reservation, sign: int) -> None:
        """Add a reservation, or with sign -1 take it away."""
        reserved = self.reserved
        reserved.requests += sign * reservation.requests
        reserved.tokens += sign * reservation.tokens
        if reservation.cost_usd is not NOTHING:
            reserved.cost_usd += sign * reservation.cost_usd

    @property
    def limits_requests(self) -> bool:
        """Return True if model requests are charged to a limit."""
        budget = self.budget
        return any(limit is not None for limit in (budget.requests, budget.tokens, budget.cost_usd))

    @property
    def has_no_more_requests(self) -> bool:
        """Return True if no further request is left, beside those that go on."""
        limit = self.budget.requests
        return limit is not None and self.requests + self.reserved.requests >= limit

    def exceeded(self) -> BudgetExceeded | None:
        """Return this budget if more was spent than it has."""
        budget = self.budget
        if budget.tool_calls is not None and self.tool_calls > budget.tool_calls:
            return BudgetExceeded("tool_calls", self.spent("toolCalls", budget.tool_calls, "tool call"))
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
        if need is not None and self.unheard:
            return BudgetExceeded("requests", self.spent("requests", self.requests, "model request"), may_return=True)
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
            return self._no_money(limit, asked + each)
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
        return None if limit is None or self.spawns < limit else self.spent("spawns", limit, "task", " of subagents")

    def _no_requests(self, limit: int) -> BudgetExceeded:
        return BudgetExceeded("requests", self.spent("requests", limit, "model request"))

    def _no_tokens(self, limit: int, asked: int = 0) -> BudgetExceeded:
        error = self.spent("tokens", limit, "token")
        if asked:
            has = f"The budget of {_amount(limit, 'token')} of {self.owner} has {max(0, limit - self.tokens)} left"
            error = replace(error, message=f"{has}, and the next request takes {asked} or more.")
        return BudgetExceeded("tokens", error, may_return=self.reserved.tokens > 0)

    def _no_money(self, limit: Decimal, asked: Decimal = Decimal(0)) -> BudgetExceeded:
        error = self.spent("costUsd", limit, "US dollar")
        if (left := limit - self.cost_usd - self.reserved.cost_usd) > 0:
            has = f"The budget of {_amount(limit, 'US dollar')} of {self.owner} has {left.normalize():f} left"
            error = replace(error, message=f"{has}, and the next request costs {asked.normalize():f} or more.")
        return BudgetExceeded("cost", error, may_return=self.reserved.cost_usd > 0)

    def unpriced(self, need: RequestNeed) -> OhmError:
        """Return the error of a cost budget whose model has no known price."""
        return OhmError(
            code=ErrorCode.BUDGET_UNENFORCEABLE,
            message=f"The budget of {_amount(self.budget.cost_usd, 'US dollar')} of {self.owner} cannot be kept: "
            f"the price of '{need.provider}/{need.model}' is unknown.",
            advice="Choose a model with a known price, or set a budget of requests or tokens.",
        )

    def spent(self, name: str, limit: int | Decimal, unit: str, of: str = "") -> OhmError:
        """Return the error of a limit that is used up; `name` is its key in `budget`, `unit` is for one."""
        return OhmError(
            code=ErrorCode.BUDGET_EXCEEDED,
            message=f"The budget of {_amount(limit, unit)}{of} of {self.owner} is spent.",
            advice=f"What was done so far is kept; raise budget.{name}, or ask for less.",
        )

    def left(self) -> tuple[tuple[Guard, int | Decimal, int | Decimal], ...]:
        """Return what is left of each limit on what subagents use, and the limit."""
        budget = self.budget
        spent: tuple[tuple[Guard, int | Decimal | None, int | Decimal], ...] = (
            ("requests", budget.requests, self.requests),
            ("tokens", budget.tokens, self.tokens),
            ("cost", budget.cost_usd, self.cost_usd),
            ("tool_calls", budget.tool_calls, self.tool_calls),
        )
        return tuple((name, max(limit - used, 0 * limit), limit) for name, limit, used in spent if limit is not None)


def _amount(limit: int | Decimal | None, unit: str) -> str:
    """Write `1 token` or `2 tokens`."""
    return f"{limit} {unit}" if limit == 1 else f"{limit} {unit}s"


def rest_of(limit: Amount | None, spent: Amount) -> Amount | None:
    """Return what is left of a limit; None where there is none."""
    return None if limit is None else max(limit - spent, limit - limit)
