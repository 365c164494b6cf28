"""Usage: the requests, tokens, tool calls and money that runs and tasks consumed."""

from __future__ import annotations

from decimal import Decimal, localcontext
from numbers import Real
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

from ohm_subagents._records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Counts of model requests, tokens and tool calls, and their cost."""

    requests: int = 0
    """Requests to models."""
    input_tokens: int = 0
    """Input tokens, those of the cache among them."""
    output_tokens: int = 0
    """Output tokens."""
    cached_tokens: int = 0
    """Input tokens that were read from a provider's cache."""
    cache_write_tokens: int = 0
    """Input tokens that were written to it."""
    tool_calls: int = 0
    """Tool calls."""
    cost_usd: Decimal | None = None
    """US dollars; None while nothing was priced."""

    @property
    def is_sound(self) -> bool:
        """True if each number is one that `as_count` and `as_money` return; those of a provider may be anything."""
        counts = (self.requests, self.input_tokens, self.output_tokens, self.cached_tokens, self.cache_write_tokens)
        cost = self.cost_usd
        return (cost is None or (type(cost) is Decimal and as_money(cost) == cost)) and all(
            type(count) is int and 0 <= count <= MOST for count in (*counts, self.tool_calls)
        )

    def __add__(self, other: Usage) -> Usage:
        """Sum; an unpriced part leaves the priced part visible."""
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            tool_calls=self.tool_calls + other.tool_calls,
            cost_usd=sum(costs[1:], costs[0]) if costs else None,
        )

    @classmethod
    def total(cls, usages: Iterable[Usage]) -> Usage:
        """Sum many, without an object for each step: the usage of ten thousand tasks is asked for again and again."""
        every = [*usages]
        costs = [one.cost_usd for one in every if one.cost_usd is not None]
        return cls(
            requests=sum([one.requests for one in every]),
            input_tokens=sum([one.input_tokens for one in every]),
            output_tokens=sum([one.output_tokens for one in every]),
            cached_tokens=sum([one.cached_tokens for one in every]),
            cache_write_tokens=sum([one.cache_write_tokens for one in every]),
            tool_calls=sum([one.tool_calls for one in every]),
            cost_usd=sum(costs[1:], costs[0]) if costs else None,
        )

    def since(self, earlier: Usage) -> Usage:
        """Return the usage after `earlier`; it has a price if anything was priced since."""
        cost = self.cost_usd
        if cost is not None and earlier.cost_usd is not None:
            cost = None if cost == earlier.cost_usd else cost - earlier.cost_usd
        return Usage(
            requests=self.requests - earlier.requests,
            input_tokens=self.input_tokens - earlier.input_tokens,
            output_tokens=self.output_tokens - earlier.output_tokens,
            cached_tokens=self.cached_tokens - earlier.cached_tokens,
            cache_write_tokens=self.cache_write_tokens - earlier.cache_write_tokens,
            tool_calls=self.tool_calls - earlier.tool_calls,
            cost_usd=cost,
        )


NOTHING_USED = Usage()
ONE_REQUEST: Final = Usage(requests=1)
ONE_TOOL_CALL: Final = Usage(tool_calls=1)
MOST: Final = 2**53 - 1
"""The largest count that every reader of JSON can read."""
MOST_USD: Final = Decimal(10**12)


def as_count(value: object) -> int | None:
    """Return a count of a provider or a plugin as a whole number from 0, the nearest one; None if it is no number."""
    if type(value) is int and 0 <= value <= MOST:
        return value
    number = as_money(value, most=Decimal(MOST))
    return None if number is None else int(number)


def as_money(value: object, *, most: Decimal = MOST_USD) -> Decimal | None:
    """Return an amount from 0 to `most`, exact as far as 28 digits go; None if it is no number."""
    match value:
        case Decimal():
            amount = value
        case int():
            amount = Decimal(value)
        case Real():
            amount = Decimal(str(float(value)))
        case _:
            return None
    if amount.is_nan() or amount <= 0:
        return Decimal(0)
    if amount >= most:
        return most
    with localcontext(prec=28):
        return +amount if amount.adjusted() > -28 else Decimal(0)
