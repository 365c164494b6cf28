"""What a run consumed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Counts of model requests, tokens and tool calls; `cost_usd` is None while nothing was priced.

    Tokens that were read from a provider's cache, and those written to it, are part of the input.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    tool_calls: int = 0
    cost_usd: Decimal | None = None

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


NOTHING_USED = Usage()
