"""Turns at a model provider: a limit of requests at once, and retries after a refusal, with a wait that all share."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from ohm_subagents._orchestrator.run.cool_downs import CoolDowns
from ohm_subagents.contract.events import RequestHeld

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

FIRST_BACKOFF_S: Final = 0.5
MAX_WAIT_S: Final = 60.0
"""A request that is to wait longer is given up, as its caller can decide better; the others wait so long."""


class _Line:
    """The requests to one provider; `backoff_s` is 0 until one is refused."""

    def __init__(self, limit: float) -> None:
        self.slots = anyio.CapacityLimiter(limit)
        self.probe = anyio.Semaphore(1)
        self.open_at = -math.inf
        self.backoff_s = 0.0
        self.refusals = 0
        self.status: int | None = None
        """The HTTP status of the newest refusal, where it is known."""


class _Probe:
    """The one request that tries first after a refusal."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self._refusals = line.refusals
        self._is_over = False

    def got_through(self) -> None:
        """Note that the provider answers again, unless it refused meanwhile."""
        if not self._is_over and self._line.refusals == self._refusals:
            self._line.backoff_s = 0.0
        self.end()

    def end(self) -> None:
        """Let the next request try."""
        if not self._is_over:
            self._is_over = True
            self._line.probe.release()


class RetryDecision(NamedTuple):
    """The consequence of a refusal by a provider.

    Fields:
        asks_again: the request is sent again; else its caller gets the refusal.
        wait_s: how long all requests to the provider wait.
        backoff_s: the window over which they are spread afterwards.
    """

    asks_again: bool
    wait_s: float
    backoff_s: float


def retry_decision(*, attempt: int, retries: int, retry_after_s: float | None, jitter: float) -> RetryDecision:
    """Decide on the retry of a request whose `attempt`, from 1 on, was refused.

    All wait as long as the provider asked for, else for a random part (`jitter`, from 0 to 1) of a time that doubles
    with each attempt. `retries` is `subagents.requestRetries`.
    """
    backoff_s = min(FIRST_BACKOFF_S * 2 ** min(attempt - 1, 16), MAX_WAIT_S)
    wait_s = backoff_s * jitter if retry_after_s is None else retry_after_s
    return RetryDecision(
        asks_again=attempt <= retries and wait_s <= MAX_WAIT_S, wait_s=min(wait_s, MAX_WAIT_S), backoff_s=backoff_s
    )


class Throttle:
    """One line a provider, shared by every run of an `Ohm`. `jitter` gives numbers from 0 to 1.

    After a refusal all requests wait; then one goes out alone, and the others follow it spread over a window, once it
    got through.
    """

    def __init__(self, *, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self.cool_downs = CoolDowns()
        """The models that have failed, and are not asked for some time."""
        self._lines: dict[str, _Line] = {}
        self._limits: Mapping[str, int] = {}
        self._retries = 0

    def configure(self, *, limits: Mapping[str, int], retries: int) -> None:
        """Set new limits, from now on. `cool_downs` are configured apart."""
        self._limits = limits
        self._retries = retries
        for provider, line in self._lines.items():
            line.slots.total_tokens = limits.get(provider, math.inf)

    def throttled(self, provider: str, *, attempt: int, retry_after_s: float | None, status: int | None = None) -> bool:
        """Note that the provider refused a request; return whether to ask again (`retry_decision`)."""
        decision = retry_decision(
            attempt=attempt,
            retries=self._retries,
            retry_after_s=retry_after_s,
            jitter=self._jitter(),
        )
        line = self._line(provider)
        line.refusals += 1
        line.status = status
        line.backoff_s = decision.backoff_s
        line.open_at = max(line.open_at, anyio.current_time() + decision.wait_s)
        return decision.asks_again

    @asynccontextmanager
    async def turn(
        self, provider: str, *, held: Callable[[RequestHeld], None], released: Callable[[], None]
    ) -> AsyncGenerator[Callable[[], None] | None]:
        """Wait for a turn and hold it until the context is left; `held` and `released` are called around a wait.

        A request that tries first gets a function to call when the provider begins to answer: the others need not wait
        until it is done.
        """
        line = self._line(provider)
        request = object()
        if line.slots.available_tokens <= 0:
            held(RequestHeld(provider=provider, why="slots"))
        await line.slots.acquire_on_behalf_of(request)
        try:
            is_probe = line.backoff_s > 0 and await self._wait(line, provider, held)
            released()
            if not is_probe:
                yield None
                return
            probe = _Probe(line)
            try:
                yield probe.got_through
                probe.got_through()
            finally:
                probe.end()
        finally:
            line.slots.release_on_behalf_of(request)

    async def _wait(self, line: _Line, provider: str, held: Callable[[RequestHeld], None]) -> bool:
        """Wait until the provider may be asked again; return True if this request is the one that tries first."""
        goes_first = line.probe.value > 0  # else nobody knows how often the one that does is refused
        wait_s = round(max(0.0, line.open_at - anyio.current_time()), 3) if goes_first else None
        held(RequestHeld(provider=provider, why="rate_limit", wait_s=wait_s, status=line.status))
        while line.backoff_s > 0:
            window_s = line.backoff_s
            await line.probe.acquire()
            try:
                is_probe = await self._opened(line)
            except BaseException:
                line.probe.release()
                raise
            if is_probe:
                return True
            line.probe.release()
            await anyio.sleep(window_s * self._jitter())  # and another one may have been refused meanwhile
        return False

    async def _opened(self, line: _Line) -> bool:
        """Wait for the time that the provider asked for; return False if another request got through meanwhile."""
        if line.backoff_s == 0:
            return False
        await anyio.sleep(max(0.0, line.open_at - anyio.current_time()))
        return True

    def _line(self, provider: str) -> _Line:
        line = self._lines.get(provider)
        if line is None:
            line = self._lines[provider] = _Line(self._limits.get(provider, math.inf))
        return line
