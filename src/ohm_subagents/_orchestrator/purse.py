"""One budget: what was spent of it, what is held for requests that go on, and whether it allows one more thing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from ohm_subagents._plugins.gate import RequestNeed
    from ohm_subagents.contract.events import Guard
    from ohm_subagents.contract.limits import Budget

ANSWER_TOKENS: Final = 16_384
"""What is reserved for an answer when the request does not limit it."""
LAST_TOKENS: Final = 2048
"""Who has less than this left for an answer has nothing left for another request."""
NOTHING: Final = Decimal(0)


@dataclass(frozen=True, slots=True)
class Spent:
    """A budget that does not allow what was asked for. `may_return`: something is reserved that may be given back."""

    guard: Guard
    error: OhmError
    may_return: bool = False


@dataclass(slots=True, eq=False)
class Reservation:
    """What one model request holds until it is over."""

    requests: int = 0
    tokens: int = 0
    cost_usd: Decimal = NOTHING
    max_output_tokens: int | None = None
    last_of: Guard | None = None
    """The budget that allows no further request."""

    def answer(self, need: RequestNeed, left: int, of: Guard) -> int:
        """Reserve an answer of at most `left` tokens; how long it may be."""
        most = min(left, need.max_output_tokens or ANSWER_TOKENS, self.max_output_tokens or left)
        if left < LAST_TOKENS:
            self.last_of = of
        self.max_output_tokens = most
        return most


class Purse:
    """A budget and what became of it.

    `whose` says in an error message whom the limit belongs to; `level` is how deep tasks are nested at its owner.
    """

    def __init__(self, budget: Budget, *, whose: str, level: int) -> None:
        self.budget = budget
        self.level = level
        self.whose = whose
        self.requests = self.tokens = self.tool_calls = self.spawns = 0
        self.cost_usd = NOTHING
        self.held = Reservation()
        self.wall_at = math.inf

    def begin(self, now: float) -> float:
        """The wall clock runs from the first run on; when it ends, in seconds of the event loop's clock."""
        if self.budget.wall_ms is not None and self.wall_at == math.inf:
            self.wall_at = now + self.budget.wall_ms / 1000
        return self.wall_at

    def hold(self, wanted: Reservation) -> None:
        """Set aside what a request may take."""
        self.held.requests += wanted.requests
        self.held.tokens += wanted.tokens
        self.held.cost_usd += wanted.cost_usd

    def release(self, held: Reservation) -> None:
        """Give back what was set aside."""
        self.held.requests -= held.requests
        self.held.tokens -= held.tokens
        self.held.cost_usd -= held.cost_usd

    def spend(self, *, requests: int, tokens: int, cost_usd: Decimal) -> None:
        """Usage was reported."""
        self.requests += requests
        self.tokens += tokens
        self.cost_usd += cost_usd

    @property
    def has_last_request(self) -> bool:
        """Whether no further request is left, beside those that go on."""
        limit = self.budget.requests
        return limit is not None and self.requests + self.held.requests >= limit

    def too_deep(self, level: int) -> OhmError | None:
        """What stands against a task at this level."""
        depth = self.budget.depth
        if depth is None or level - self.level <= depth:
            return None
        return OhmError(
            code=ErrorCode.DEPTH_EXCEEDED,
            message=f"No subagent may be started at depth {level}: the limit of {self.whose} is {self.level + depth}.",
            advice="Do the work yourself, or raise subagents.budget.depth in ohm.json.",
        )

    def no_spawn(self) -> OhmError | None:
        """What stands against one more task that a task starts."""
        limit = self.budget.spawns
        return None if limit is None or self.spawns < limit else self._error("spawns", limit, "tasks of subagents")

    def over(self) -> Spent | None:
        """The budget that more was spent of than it has."""
        budget = self.budget
        if budget.tool_calls is not None and self.tool_calls > budget.tool_calls:
            return Spent("tool_calls", self._error("toolCalls", budget.tool_calls, "tool calls"))
        if budget.requests is not None and self.requests > budget.requests:
            return self._no_requests(budget.requests)
        if budget.tokens is not None and self.tokens > budget.tokens:
            return self._no_tokens(budget.tokens)
        if budget.cost_usd is not None and self.cost_usd > budget.cost_usd:
            return self._no_money(budget.cost_usd)
        return None

    def lacks(self, wanted: Reservation, need: RequestNeed | None) -> Spent | None:
        """What stands against one more request; lowers what is `wanted` to what there is."""
        limit = self.budget.requests
        if limit is not None and self.requests + self.held.requests >= limit:
            return self._no_requests(limit)
        if need is None:
            return None
        return self._lacks_tokens(wanted, need) or self._lacks_money(wanted, need)

    def _lacks_tokens(self, wanted: Reservation, need: RequestNeed) -> Spent | None:
        limit = self.budget.tokens
        if limit is None:
            return None
        left = limit - self.tokens - self.held.tokens - need.input_tokens
        if left < 1:
            return self._no_tokens(limit, need.input_tokens)
        wanted.tokens = max(wanted.tokens, need.input_tokens + wanted.answer(need, left, "tokens"))
        return None

    def _lacks_money(self, wanted: Reservation, need: RequestNeed) -> Spent | None:
        limit = self.budget.cost_usd
        if limit is None:
            return None
        if need.price is None:
            return Spent("cost", self.unpriced(need))
        asked = need.price(need.input_tokens, 0)
        each = (need.price(need.input_tokens, 1000) - asked) / 1000
        left = limit - self.cost_usd - self.held.cost_usd - asked
        if left < each:
            return self._no_money(limit)
        answer = wanted.answer(need, int(left / each) if each else ANSWER_TOKENS, "cost")
        wanted.cost_usd = max(wanted.cost_usd, asked + each * answer)
        return None

    def _no_requests(self, limit: int) -> Spent:
        return Spent("requests", self._error("requests", limit, "model requests"))

    def _no_tokens(self, limit: int, asked: int = 0) -> Spent:
        error = self._error("tokens", limit, "tokens")
        if asked:
            fact = f"The budget of {limit} tokens of {self.whose} has {max(0, limit - self.tokens)} left, and the next "
            error = replace(error, message=f"{fact}request takes {asked} or more.")
        return Spent("tokens", error, may_return=self.held.tokens > 0)

    def _no_money(self, limit: Decimal) -> Spent:
        return Spent("cost", self._error("costUsd", limit, "US dollars"), may_return=self.held.cost_usd > 0)

    def no_time(self) -> Spent:
        """The wall clock ran out."""
        return Spent("wall", self._error("wallMs", self.budget.wall_ms or 0, "milliseconds"))

    def _error(self, name: str, limit: int | Decimal, what: str) -> OhmError:
        return OhmError(
            code=ErrorCode.BUDGET_EXCEEDED,
            message=f"The budget of {limit} {what} of {self.whose} is spent.",
            advice=f"What was done so far is kept; raise budget.{name}, or ask for less.",
        )

    def unpriced(self, need: RequestNeed) -> OhmError:
        """A budget of money cannot be kept when nobody knows what the model costs."""
        return OhmError(
            code=ErrorCode.BUDGET_UNENFORCEABLE,
            message=f"The budget of {self.budget.cost_usd} US dollars of {self.whose} cannot be kept: nobody knows "
            f"what '{need.provider}/{need.model}' costs.",
            advice="Take a model with a known price, or a budget of requests or tokens.",
        )
