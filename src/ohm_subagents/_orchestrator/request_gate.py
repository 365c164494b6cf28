"""The gate of one run: its model requests wait for the budget and for their turn at the provider."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._orchestrator.purse import Reservation, Spent
from ohm_subagents._plugins.gate import Grant
from ohm_subagents.contract.events import RequestHeld
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from ohm_subagents._orchestrator.account import Account
    from ohm_subagents._orchestrator.guard import RunGuard
    from ohm_subagents._orchestrator.throttle import Throttle
    from ohm_subagents._plugins.gate import RequestNeed
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.usage import Usage


class RequestGate:
    """One request of the run at a time (`Gate`); what it may take is set aside in every budget above the run.

    A run takes at least one request: it is set aside before the run begins, and swapped for the real one when the
    backend asks. A backend that never asks uses it up with the first usage that it reports.
    """

    def __init__(self, guard: RunGuard, account: Account, throttle: Throttle) -> None:
        self._guard = guard
        self._account = account
        self._throttle = throttle
        self._held: Reservation | None = None
        self._got_through: Callable[[], None] | None = None
        self._turn: anyio.Semaphore | None = None

    def open(self) -> Spent | None:
        """Set the first request aside, or say what stands against it."""
        reserved = self._account.reserve()
        if isinstance(reserved, Spent):
            return reserved
        self._held = reserved
        return None

    def close(self, *, is_counted: bool) -> None:
        """The run is over. Of a backend that does not count its requests (not `is_counted`), it was one."""
        held = self._take()
        if held is not None:
            give_back = self._account.release if is_counted else self._account.keep
            give_back(held)

    def answered(self) -> None:
        """The model has begun to answer."""
        if self._got_through is not None:
            self._got_through()
            self._got_through = None

    def used(self, usage: Usage) -> Spent | None:
        """The run reports usage; which budget is beyond its limit now, if any."""
        return self._account.spend(usage, self._take() if usage.requests else None)

    @asynccontextmanager
    async def request(self, need: RequestNeed) -> AsyncGenerator[Result[Grant, OhmError]]:
        """Wait for a turn, reserve the budget, hold both (`Gate`)."""
        if self._turn is None:
            self._turn = anyio.Semaphore(1, fast_acquire=True)
        async with self._turn:
            reserved = await self._reserve(need)
            if isinstance(reserved, Spent):
                self._guard.refused(reserved)
                yield Err(reserved.error)
                return
            try:
                async with self._throttle.turn(
                    need.provider, held=self._guard.hold, released=self._guard.release
                ) as self._got_through:
                    yield Ok(Grant(max_output_tokens=reserved.max_output_tokens, is_last=reserved.last_of is not None))
            finally:
                self._got_through = None
                if self._held is reserved:  # no usage came: it failed, or was refused
                    self._held = None
                    self._account.keep(reserved)

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        """A budget of money that such a request would not keep (`Gate`)."""
        return self._account.unpriced(need)

    def throttled(self, provider: str, *, attempt: int, retry_after_s: float | None) -> bool:
        """The provider refused (`Gate`)."""
        return self._throttle.refused(provider, attempt=attempt, retry_after_s=retry_after_s)

    async def _reserve(self, need: RequestNeed) -> Reservation | Spent:
        first = self._take()
        if first is not None:
            self._account.release(first)
        while isinstance(reserved := self._account.reserve(need), Spent) and reserved.may_return:
            self._guard.hold(RequestHeld(provider=need.provider, why="budget"))
            await self._account.changed()
        if isinstance(reserved, Reservation):
            self._guard.release()
            self._held = reserved
            if reserved.last_of is not None:
                self._guard.last_request(reserved.last_of)
        return reserved

    def _take(self) -> Reservation | None:
        held, self._held = self._held, None
        return held
