"""The state of a ledger: the parts of budgets that it may grant, and what it has granted of them; pure.

What a submitter leaves to the ledger it does not grant itself, so both may grant at once, and no budget is exceeded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents.contract.account import Remaining
from ohm_subagents.contract.usage import NOTHING_USED, Usage
from ohm_subagents.contract.wire import DepositBudgets, RequestUsed, UnsettledRequest, UnsettledRun
from ohm_subagents.remote.amounts import NOTHING_LEFT, added

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ohm_subagents.contract.wire import RequestAsked

ANSWER_TOKENS: Final = 16_384
"""Tokens that are reserved for an answer when the request does not limit it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedRequest:
    """A request that the ledger has granted, and its submitter has not settled."""

    run_key: str
    """The run."""
    ask: int
    """The number of what was asked, in the run."""
    usage: Usage
    """The usage; what was reserved until that is known."""
    max_output_tokens: int | None = None
    """The longest answer that was reserved; None if no budget limits it."""
    told: int = 0
    """The number of the report of the run up to which all of the usage was told; 0 while it is not over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRun:
    """A run of a submitter."""

    owner: str
    """The id of the submitter."""
    budgets: tuple[str, ...] | None = None
    """The keys of its budgets; None while nothing may be granted to it."""
    granted: dict[int, GrantedRequest] = field(default_factory=dict[int, GrantedRequest], hash=False)
    """The requests that it was granted, by the number of the ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerState:
    """All that a ledger knows.

    Fields:
        budgets: by the key of a budget, what may still be granted of it.
        runs: the runs, by their keys.
    """

    budgets: dict[str, Remaining] = field(default_factory=dict[str, Remaining], hash=False)
    runs: dict[str, LedgerRun] = field(default_factory=dict[str, LedgerRun], hash=False)

    def kept_for(self, deposit: DepositBudgets) -> dict[str, Remaining]:
        """Return the part of each budget of a deposit that its submitter has to leave alone."""
        return {key: added(self.budgets.get(key, NOTHING_LEFT), self.unsettled_of(key), +1) for key in deposit.budgets}

    def unsettled(self, owner: str) -> tuple[UnsettledRun, ...]:
        """Return the runs of a submitter with requests that it has not settled."""
        return tuple(
            UnsettledRun(
                run_key=key,
                asks=tuple(run.granted),
                usage=_usage(run.granted.values()),
                requests=tuple(
                    UnsettledRequest(ask=one.ask, usage=one.usage, told=one.told) for one in run.granted.values()
                ),
            )
            for key, run in self.runs.items()
            if run.owner == owner and run.granted
        )

    def fitting(self, ask: RequestAsked, *, now_ms: int) -> GrantedRequest | None:
        """Return a request as it may be granted; None while it may not. The same ask gets the same answer."""
        run = self.runs.get(ask.run_key)
        if run is None or run.budgets is None:
            return None
        if ask.ask in run.granted:
            return run.granted[ask.ask]
        parts = [self.budgets.get(key, NOTHING_LEFT) for key in run.budgets]
        longest = [_longest(part, ask, now_ms) for part in parts]
        most = min((one for one in longest if one is not None), default=None)
        if most is not None and most < 1:
            return None
        usage = Usage(requests=1)
        if most is not None:
            price = (
                None if ask.input_price is None else ask.input_price + (ask.output_price or Decimal(0)) * most / 1000
            )
            usage = Usage(requests=1, input_tokens=ask.input_tokens, output_tokens=most, cost_usd=price)
        return GrantedRequest(run_key=ask.run_key, ask=ask.ask, usage=usage, max_output_tokens=most)

    def unsettled_of(self, budget: str) -> Usage:
        """Return the usage of all requests that were granted of a budget, and are not settled."""
        return _usage(
            one for run in self.runs.values() if budget in (run.budgets or ()) for one in run.granted.values()
        )


LedgerEvent: TypeAlias = DepositBudgets | GrantedRequest | RequestUsed
"""The events of a ledger."""


def apply(state: LedgerState, event: LedgerEvent) -> LedgerState:
    """Return the state after an event; one that counts for nothing leaves it as it is."""
    match event:
        case DepositBudgets():
            return _without_unused(_deposited(_settled(_claimed(state, event), event), event))
        case GrantedRequest(run_key=key):
            run = state.runs[key]
            if event.ask in run.granted:
                return state
            charged = _charged(state, run, event.usage, -1)
            return _with(charged, key, replace(run, granted={**run.granted, event.ask: event}))
        case RequestUsed(run_key=key, ask=ask, usage=usage, told=told):
            found = state.runs.get(key)
            held = None if found is None else found.granted.get(ask)
            if found is None or held is None:
                return state
            back = _charged(state, found, held.usage, +1)
            if usage is None:  # its submitter has granted it, and counts it
                return _with(back, key, replace(found, granted=_less(found.granted, (ask,))))
            known = _reported(usage, held.usage)
            used = replace(held, usage=known, told=told)
            return _with(_charged(back, found, known, -1), key, replace(found, granted={**found.granted, ask: used}))


def _claimed(state: LedgerState, event: DepositBudgets) -> LedgerState:
    """Stop all grants to what a submitter takes up, and of the budgets of that; the one before it is gone."""
    gone = {state.runs[key].owner for key in event.claims if key in state.runs} - {event.owner}
    runs = {key: run for key, run in state.runs.items() if run.owner not in gone or run.granted or key in event.claims}
    budgets = dict(state.budgets)
    for key in event.claims:
        run = runs.get(key, LedgerRun(owner=event.owner))
        for budget in run.budgets or ():
            budgets.pop(budget, None)
        runs[key] = replace(run, owner=event.owner, budgets=None)
    return LedgerState(budgets=budgets, runs=runs)


def _settled(state: LedgerState, event: DepositBudgets) -> LedgerState:
    runs = dict(state.runs)
    for key, asks in event.settled.items():
        if key in runs and runs[key].owner == event.owner:
            runs[key] = replace(runs[key], granted=_less(runs[key].granted, asks))
    for key in event.over:
        if key in runs and runs[key].owner == event.owner:
            del runs[key]
    return replace(state, runs=runs)


def _deposited(state: LedgerState, event: DepositBudgets) -> LedgerState:
    runs = dict(state.runs)
    for key, budgets in event.runs.items():
        run = runs.get(key, LedgerRun(owner=event.owner))
        if run.owner == event.owner and key not in event.over:
            runs[key] = replace(run, budgets=budgets)
    state = replace(state, runs=runs)
    parts = {key: added(part, state.unsettled_of(key), -1) for key, part in event.budgets.items()}
    return replace(state, budgets={**state.budgets, **parts})


def _without_unused(state: LedgerState) -> LedgerState:
    """Forget the budgets that no run is charged to."""
    used = {key for run in state.runs.values() for key in run.budgets or ()}
    return replace(state, budgets={key: part for key, part in state.budgets.items() if key in used})


def _charged(state: LedgerState, run: LedgerRun, usage: Usage, sign: int) -> LedgerState:
    parts = {key: added(state.budgets[key], usage, sign) for key in run.budgets or () if key in state.budgets}
    return replace(state, budgets={**state.budgets, **parts})


def _with(state: LedgerState, key: str, run: LedgerRun) -> LedgerState:
    return replace(state, runs={**state.runs, key: run})


def _less(granted: Mapping[int, GrantedRequest], asks: Iterable[int]) -> dict[int, GrantedRequest]:
    gone = {*asks}
    return {ask: one for ask, one in granted.items() if ask not in gone}


def _usage(granted: Iterable[GrantedRequest]) -> Usage:
    return sum((one.usage for one in granted), NOTHING_USED)


def _reported(usage: Usage, reserved: Usage) -> Usage:
    """Return reported usage; what is missing of it is taken from the reservation, and a request counts as made."""
    has_tokens = usage.input_tokens + usage.output_tokens > 0
    tokens = usage if has_tokens else reserved
    cost_usd = reserved.cost_usd if usage.cost_usd is None else usage.cost_usd
    return replace(
        usage,
        requests=max(usage.requests, 1),
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cost_usd=cost_usd,
    )


def _longest(part: Remaining, ask: RequestAsked, now_ms: int) -> int | None:
    """Return the longest answer that a part of a budget has left for a request: None without a limit, 0 for no request.

    A limit on tool calls is kept by submitters alone.
    """
    is_late = part.wall_ends_ms is not None and now_ms >= part.wall_ends_ms
    if is_late or part.tool_calls is not None or (part.requests is not None and part.requests < 1):
        return 0
    longest: list[int] = []
    if part.tokens is not None:
        longest.append(part.tokens - ask.input_tokens)
    if part.cost_usd is not None:
        if ask.input_price is None or ask.output_price is None:
            return 0
        left = part.cost_usd - ask.input_price
        longest.append(0 if left <= 0 else int(left * 1000 / ask.output_price) if ask.output_price else ANSWER_TOKENS)
    return min(*longest, ask.max_output_tokens or ANSWER_TOKENS) if longest else None
