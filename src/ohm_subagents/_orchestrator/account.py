"""Who pays for a task: its own budget and those of everything above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ohm_subagents._orchestrator.purse import NOTHING, Purse, Reservation, Spent

if TYPE_CHECKING:
    from ohm_subagents._plugins.gate import RequestNeed
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.limits import Budget
    from ohm_subagents.contract.usage import Usage


class _Change:
    """Tells those who wait that something was given back, anywhere in the tree."""

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def tell(self) -> None:
        if self._event is not None:
            self._event.set()
            self._event = None

    async def wait(self) -> None:
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()


class Account:
    """The purses that a task pays from, its own first. What one of them does not allow is not done."""

    def __init__(self, purses: tuple[Purse, ...], change: _Change | None = None) -> None:
        self._purses = purses
        self._change = change or _Change()

    def under(self, budget: Budget, *, whose: str, level: int) -> Account:
        """An account below this one: its spending counts here too."""
        return Account((Purse(budget, whose=whose, level=level), *self._purses), self._change)

    @property
    def counts_tokens_or_cost(self) -> bool:
        """Whether somebody has to report usage for the budgets to be kept."""
        return any(one.budget.tokens is not None or one.budget.cost_usd is not None for one in self._purses)

    def begin(self, now: float) -> float:
        """A run begins; when the first wall clock ends, in seconds of the event loop's clock."""
        return min(one.begin(now) for one in self._purses)

    def out_of_time(self) -> Spent:
        """The wall clock that ended first."""
        return min(self._purses, key=lambda one: one.wall_at).no_time()

    def spawn(self, level: int) -> OhmError | None:
        """Take leave for a task at this level, or what stands against it; what no task started is not counted."""
        for one in self._purses:
            refused = one.too_deep(level) or (one.no_spawn() if level > 1 else None)
            if refused is not None:
                return refused
        for one in self._purses:
            one.spawns += level > 1
        return None

    def call_tool(self) -> Spent | None:
        """A tool call begins; the budget that it goes beyond."""
        for one in self._purses:
            one.tool_calls += 1
        return self._over()

    def reserve(self, need: RequestNeed | None = None) -> Reservation | Spent:
        """Leave for one model request, or what stands against it. Deterministic: first come, first served."""
        wanted = Reservation(requests=1)
        for one in self._purses:
            spent = one.lacks(wanted, need)
            if spent is not None:
                return spent
        for one in self._purses:
            one.hold(wanted)
        if any(one.has_last_request for one in self._purses):
            wanted.last_of = "requests"
        return wanted

    def release(self, held: Reservation) -> None:
        """Give back what was reserved."""
        for one in self._purses:
            one.release(held)
        self._change.tell()

    def keep(self, held: Reservation) -> None:
        """The request was made, and nobody says what it used."""
        for one in self._purses:
            one.requests += held.requests
        self.release(held)

    def spend(self, usage: Usage, held: Reservation | None) -> Spent | None:
        """Usage was reported; what was reserved for it is used up. The budget that it went beyond, if any."""
        if held is not None:
            self.release(held)
        tokens, cost_usd = usage.input_tokens + usage.output_tokens, usage.cost_usd
        if held is not None:  # what nobody counted is taken to be what was set aside
            tokens = tokens or held.tokens
            cost_usd = held.cost_usd if cost_usd is None else cost_usd
        for one in self._purses:
            one.spend(requests=usage.requests, tokens=tokens, cost_usd=cost_usd or NOTHING)
        return self._over()

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        """What stands against a request of unknown price: the first budget of money."""
        return next((one.unpriced(need) for one in self._purses if one.budget.cost_usd is not None), None)

    async def changed(self) -> None:
        """Until something that was reserved is given back."""
        await self._change.wait()

    def _over(self) -> Spent | None:
        return next((spent for one in self._purses if (spent := one.over()) is not None), None)
