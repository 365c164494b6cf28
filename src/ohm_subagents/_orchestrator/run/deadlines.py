"""The deadlines of a run: when it has to end, and which clock decides. Pure: callers pass the time."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from ohm_subagents.contract.limits import ClockName, Clocks


LEAD: Final = 0.2
MAX_LEAD_S: Final = 30.0
"""A run is asked to finish this part of a clock before it runs out, but at most half a minute before."""


class Deadline(NamedTuple):
    """The next step against a run.

    Fields:
        at: seconds of the event loop's clock.
        clock: the clock that decides.
        step: ask the run to finish, or stop it.
    """

    at: float
    clock: ClockName | Literal["wall"]
    step: Literal["finish", "stop"]


_NEVER: Final = Deadline(math.inf, "cap", "stop")
_End = tuple[float, "ClockName | Literal['wall']"]
_TIME: Final = itemgetter(0)
_ASKING: Final[tuple[Literal["soft", "cap", "wall"], ...]] = ("soft", "cap", "wall")


class Deadlines:
    """The four clocks of one run, and the wall clock of the budgets that it is under.

    Times are seconds of the event loop's clock. While a request is held, only `cap` and `wall` count.
    """

    __slots__ = (
        "_begun",
        "_called_at",
        "_calls",
        "_clocks",
        "_held_at",
        "_holds",
        "_last",
        "_parked_at",
        "_parks",
        "_soft_at",
        "_wall_at",
        "can_finish",
    )

    def __init__(self, clocks: Clocks) -> None:
        """Make clocks of which none runs out before `begin`."""
        self._clocks = clocks
        self._begun = self._soft_at = self._wall_at = math.inf
        self._last: float | None = None
        self._called_at = -math.inf
        self._calls: dict[str, float] = {}
        self._holds = self._parks = 0
        self._held_at = self._parked_at = 0.0
        self.can_finish = False

    def begin(self, now: float, *, wall_at: float = math.inf) -> None:
        """Start the clocks."""
        self._begun = now
        self._soft_at = now + self._clocks.soft_ms / 1000
        self._wall_at = wall_at

    @property
    def _is_extended_by_calls(self) -> bool:
        return self._clocks.extension == "calls"

    @property
    def is_silent(self) -> bool:
        """True while nothing was reported: a backend that reports nothing until it is done has no idle clock."""
        return self._last is None

    def progress(self, now: float, *, is_piece: bool = False) -> None:
        """Note progress; `is_piece`: it is a part of a message that goes on."""
        match self._clocks.extension:
            case "messages" if is_piece:
                return
            case "calls" if self._last is not None:
                return
            case _:
                self._last = now

    def call_started(self, call_id: str, now: float) -> None:
        """Start the clock of a tool call."""
        self._last = self._called_at = now
        self._calls[call_id] = now

    def call_ended(self, call_id: str, now: float) -> None:
        """Stop the clock of a tool call."""
        self._calls.pop(call_id, None)
        self.progress(now)

    def hold(self, now: float) -> None:
        """Stop the clocks but `cap` and `wall`: a request waits, or a task that the run has started works."""
        if not self._holds:
            self._held_at = now
        self._holds += 1

    def release(self, now: float) -> None:
        """Let the clocks go on: the time of the wait does not count."""
        self._holds -= 1
        if self._holds:
            return
        waited = now - self._held_at
        self._soft_at += waited
        if self._last is not None:
            self._last = min(self._last + waited, now)
        self._called_at = min(self._called_at + waited, now)
        self._calls = {call_id: min(begun + waited, now) for call_id, begun in self._calls.items()}

    def park(self, now: float) -> None:
        """Stop all clocks: somebody has to answer a request of the run, or of a task below it."""
        if not self._parks:
            self._parked_at = now
        self._parks += 1
        self.hold(now)

    def unpark(self, now: float) -> None:
        """Let the clocks go on: the time of the wait does not count."""
        self._parks -= 1
        if not self._parks:
            self._begun += now - self._parked_at
            self._wall_at += now - self._parked_at
        self.release(now)

    def next(self) -> Deadline:
        """Return what comes next: the end of the run, or before it the request to finish.

        A run is asked to finish by the clocks that count work. A model that says nothing cannot be asked, but where
        silence and the soft limit end together, as they do by default, it is the soft limit that asks. Where calls
        extend the time, a run that makes them is not asked: only one that makes none after the soft limit.
        """
        if self._parks:
            return _NEVER
        ends = self._ends()
        at, clock = min(ends, key=_TIME)
        if self.can_finish:
            times = {each: end for end, each in ends}
            asks: list[_End] = [(times[each] - self._lead(each), each) for each in _ASKING if each in times]
            first, asking = min(asks, key=_TIME)
            if first < at:
                return Deadline(max(first, self._begun), asking, "finish")
        return Deadline(at, clock, "stop")

    def _lead(self, clock: ClockName | Literal["wall"]) -> float:
        match clock:
            case "soft" if self._is_extended_by_calls:
                whole = self._clocks.extend_ms / 1000
            case "cap" if self._is_extended_by_calls:
                whole = 0.0
            case "soft":
                whole = min(self._clocks.soft_ms, self._clocks.extend_ms or self._clocks.soft_ms) / 1000
            case "cap":
                whole = self._clocks.cap_ms / 1000
            case _:
                whole = max(self._wall_at - self._begun, 0.0)
        return min(whole * LEAD, MAX_LEAD_S)

    def _ends(self) -> list[_End]:
        """Return when each clock that counts now runs out; of two that do so together, the first here is reported."""
        clocks = self._clocks
        ends: list[_End] = [(self._begun + clocks.cap_ms / 1000, "cap"), (self._wall_at, "wall")]
        if not self._holds:
            if self._calls:
                ends.append((min(self._calls.values()) + clocks.tool_ms / 1000, "tool"))
            elif self._last is not None:
                ends.append((self._last + clocks.idle_ms / 1000, "idle"))
            ends.append((self._soft(), "soft"))
        return ends

    def _soft(self) -> float:
        extend_s = self._clocks.extend_ms / 1000
        if self._is_extended_by_calls:
            return max(self._soft_at, self._called_at) + extend_s
        if self._calls:
            return math.inf
        return self._soft_at if self._last is None else max(self._soft_at, self._last + extend_s)
