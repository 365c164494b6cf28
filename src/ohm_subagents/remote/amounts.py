"""The amounts of a budget that are left, laid aside, or used unheard; None is no limit."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.account import Remaining
from ohm_subagents.contract.usage import NOTHING_USED

if TYPE_CHECKING:
    from ohm_subagents.contract.usage import Usage
    from ohm_subagents.contract.wire import UnsettledRun

PORTION: Final = 4
"""A submitter keeps one part in so many of what is left, to grant it without a call."""
NO_LIMIT: Final = Remaining()
NOTHING_LEFT: Final = Remaining(requests=0, tokens=0, cost_usd=Decimal(0))


def part_of(rest: Remaining) -> Remaining:
    """Return the part of what is left that others may grant."""
    requests, tokens, cost_usd = rest.requests, rest.tokens, rest.cost_usd
    return replace(
        rest,
        requests=None if requests is None else max(0, requests - max(1, requests // PORTION)),
        tokens=None if tokens is None else max(0, tokens - max(1, tokens // PORTION)),
        cost_usd=None if cost_usd is None else cost_usd - cost_usd / PORTION,
    )


def fits(part: Remaining, rest: Remaining) -> bool:
    """Return True if there is as much left as this part."""
    pairs = ((part.requests, rest.requests), (part.tokens, rest.tokens), (part.cost_usd, rest.cost_usd))
    return all(one is None or left is None or one <= left for one, left in pairs)


def larger(part: Remaining, other: Remaining) -> Remaining:
    """Return the larger of each amount; what `other` does not limit is not limited."""
    requests, tokens, cost_usd = other.requests, other.tokens, other.cost_usd
    return replace(
        other,
        requests=None if requests is None else max(requests, part.requests or 0),
        tokens=None if tokens is None else max(tokens, part.tokens or 0),
        cost_usd=None if cost_usd is None else max(cost_usd, part.cost_usd or Decimal(0)),
    )


def added(part: Remaining, usage: Usage, sign: int) -> Remaining:
    """Return a part of a budget with usage added to it, or with sign -1 taken away."""
    tokens = usage.input_tokens + usage.output_tokens
    return replace(
        part,
        requests=None if part.requests is None else max(0, part.requests + sign * usage.requests),
        tokens=None if part.tokens is None else max(0, part.tokens + sign * tokens),
        cost_usd=None
        if part.cost_usd is None
        else max(Decimal(0), part.cost_usd + sign * (usage.cost_usd or Decimal(0))),
    )


def unrecorded(run: UnsettledRun, position: int) -> Usage:
    """Return the usage of what a ledger has granted to a run, without what was told by reports up to a position."""
    if not run.requests:
        return run.usage
    return sum((one.usage for one in run.requests if not 0 < one.told <= position), NOTHING_USED)
