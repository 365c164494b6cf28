"""The gate of one run: its model requests wait for the budget and a slot at the provider; rules judge its calls."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._orchestrator.spending import BudgetExceeded, Reservation
from ohm_subagents._plugins.backends.gate import Grant
from ohm_subagents.contract.events import GuardTripped, RequestHeld, UsageAdded
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.usage import ONE_REQUEST

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._orchestrator.ledger import Ledger
    from ohm_subagents._orchestrator.run.approvals import Approvals
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents._orchestrator.run.throttle import Throttle
    from ohm_subagents._plugins.backends.gate import RequestNeed
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.profile import Decision
    from ohm_subagents.contract.usage import Usage


class RequestGate:
    """One request of the run at a time (`Gate`), reserved in every budget above the run.

    A run takes at least one request: it is reserved before the run begins, and swapped for the real one when the
    backend asks. A backend that never asks uses it up with the first usage that it reports.
    """

    def __init__(
        self,
        ledger: Ledger,
        throttle: Throttle,
        record: TaskRecord,
        approvals: Callable[[], Approvals],
        *,
        hold: Callable[[RequestHeld], None],
        release: Callable[[], None],
    ) -> None:
        """Make a gate that calls `hold` when a request has to wait, and `release` when it goes out.

        `approvals` is called when the first tool call or question comes.
        """
        self._ledger = ledger
        self._throttle = throttle
        self._record = record
        self._approvals = approvals
        self._hold = hold
        self._release = release
        self._held: Reservation | None = None
        self._got_through: Callable[[], None] | None = None
        self._is_out = False
        self._cut: Reservation | None = None
        self._turn: anyio.Semaphore | None = None

    @cached_property
    def approvals(self) -> Approvals:
        """Judges the tool calls of the run, and asks its questions."""
        return self._approvals()

    def open(self) -> OhmError | None:
        """Reserve the first request, or return why the run may not begin; one that goes on has begun."""
        if self._record.on_caught_up is not None:
            return None
        reserved = self._ledger.reserve()
        if isinstance(reserved, BudgetExceeded):
            self._refused(reserved)
            return reserved.error
        self._held = reserved
        return None

    def close(self, *, is_counted: bool) -> None:
        """End the run. A backend that does not count its requests (not `is_counted`) is charged for one."""
        held = self._take()
        if held is not None:
            give_back = self._ledger.release if is_counted else self._ledger.commit
            give_back(held)
        self._record.lose()

    @property
    def is_asked(self) -> bool:
        """True if the backend asks before each of its requests."""
        return self._turn is not None

    def answered(self) -> None:
        """Note that the model has begun to answer."""
        if self._got_through is not None:
            self._got_through()
            self._got_through = None

    def uncounted(self, event: UsageAdded) -> UsageAdded:
        """Return what the run reports without the request that was counted when it was cut off."""
        if self._cut is None or not event.usage.requests:
            return event
        self._end_cut()  # what it used takes the place of what was reserved for it
        return UsageAdded(usage=event.usage.since(ONE_REQUEST))

    def used(self, usage: Usage) -> BudgetExceeded | None:
        """Charge usage that the run reports; return the budget that it exceeds."""
        held = None
        if usage.requests:
            self._is_out = False
            held = self._take()
        if held is not None and usage.cost_usd is None and held.cost_usd:
            self._record.charge_unpriced(held.cost_usd)
        return self._ledger.spend(usage, held)

    @asynccontextmanager
    async def request(self, need: RequestNeed) -> AsyncGenerator[Result[Grant, OhmError]]:
        """Wait for a turn, reserve the budget, hold both (`Gate`)."""
        if self._turn is None:
            self._turn = anyio.Semaphore(1, fast_acquire=True)
        async with self._turn:
            reserved, uncovered = await self._covered(need)
            if isinstance(reserved, BudgetExceeded):
                self._refused(reserved)
                yield Err(reserved.error)
                return
            try:
                if uncovered is not None:
                    yield Err(uncovered)
                    return
                turn = self._throttle.turn(need.provider, held=self._hold, released=self._release)
                async with turn as self._got_through:
                    self._is_out = True
                    yield Ok(
                        Grant(
                            max_output_tokens=reserved.max_output_tokens,
                            is_last=reserved.last_of is not None,
                            budgets=self._ledger.budgets,
                        )
                    )
            finally:
                self._got_through = None
                self._count_open()  # no usage came: it failed, or was refused
                self._end_cut()
                self._give_back(reserved)

    def cut(self) -> None:
        """Count the request that is out, if there is one, before the task is settled: it was made all the same.

        What else it may use stays reserved until that is known, or the request is over.
        """
        self._cut = self._counted()

    def _count_open(self) -> None:
        counted = self._counted()
        if counted is not None:
            self._ledger.release(counted)

    def _counted(self) -> Reservation | None:
        """Count the request that is out, and return what is still reserved for it; None if there is none."""
        held = self._take() if self._is_out else None
        self._is_out = False
        if held is None:
            return None
        self._record.add(UsageAdded(usage=ONE_REQUEST))
        return self._ledger.count(held)

    def _end_cut(self) -> None:
        cut, self._cut = self._cut, None
        if cut is not None:
            self._ledger.release(cut)

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        """Return an error if a cost budget is set and the price is unknown (`Gate`)."""
        return self._ledger.unpriced(need)

    async def throttled(
        self, provider: str, *, attempt: int, retry_after_s: float | None, status: int | None = None
    ) -> bool:
        """Note that the provider refused; return whether to ask again (`Gate`)."""
        return self._throttle.throttled(provider, attempt=attempt, retry_after_s=retry_after_s, status=status)

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str = "",
        on_wait: Callable[[], None] | None = None,
        judged: Decision | None = None,
    ) -> str | None:
        """Judge a call of a tool, and wait for an answer where a rule asks about it (`Gate`)."""
        return await self.approvals.tool(name, arguments, call_id, on_wait, judged)

    async def _covered(self, need: RequestNeed) -> tuple[Reservation | BudgetExceeded, OhmError | None]:
        """Reserve the budget, and wait until nobody else may grant what was reserved; or return why nobody knows.

        What others have granted may be counted in that time: then the rest has to allow the request once more.
        """
        while True:
            reserved = await self._reserve(need)
            if isinstance(reserved, BudgetExceeded):
                return reserved, None
            spent = self._ledger.spent()
            try:
                uncovered = await self._ledger.covered()
            except BaseException:
                self._give_back(reserved)
                raise
            if uncovered is not None or self._ledger.spent() == spent:
                return reserved, uncovered

    def _give_back(self, reserved: Reservation) -> None:
        """Give back what never went out."""
        if self._held is reserved:
            self._held = None
            self._ledger.release(reserved)

    async def _reserve(self, need: RequestNeed) -> Reservation | BudgetExceeded:
        self._record.caught_up()
        first = self._take()
        if first is not None:
            self._ledger.release(first)
        while isinstance(reserved := self._ledger.reserve(need), BudgetExceeded) and reserved.may_return:
            self._hold(RequestHeld(provider=need.provider, why="budget"))
            await self._ledger.released()
        if isinstance(reserved, Reservation):
            self._release()
            self._held = reserved
            if reserved.last_of is not None:
                last = "The budget allows one more model request: the subagent was asked to answer."
                self._record.add(GuardTripped(guard=reserved.last_of, step="finish", message=last))
        return reserved

    def _refused(self, exceeded: BudgetExceeded) -> None:
        """Record that a budget does not allow the request; the backend gets the error, and ends the run itself."""
        self._record.add(GuardTripped(guard=exceeded.guard, step="stop", message=exceeded.error.message))

    def _take(self) -> Reservation | None:
        held, self._held = self._held, None
        return held
