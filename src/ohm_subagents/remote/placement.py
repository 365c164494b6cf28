"""The placement of runs at runners, the retry of lost ones, and the size of a pool, by pure functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST_COOL_DOWN_S: Final = 1.0
MAX_COOL_DOWN_S: Final = 60.0
FIRST_RETRY_S: Final = 1.0
MAX_RETRY_S: Final = 30.0
_MOST_DOUBLINGS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerLoad:
    """A runner as one submitter knows it; each change returns a new one."""

    running: int = 0
    """The runs of this submitter that are there."""
    losses: int = 0
    """The number of times that it was lost since the last run that ended there."""
    open_at: float = -math.inf
    """The time in seconds before which it is given no run."""

    def begun(self) -> RunnerLoad:
        """Return it with one run more."""
        return RunnerLoad(running=self.running + 1, losses=self.losses, open_at=self.open_at)

    def ended(self) -> RunnerLoad:
        """Return it with one run less, which has come to its end."""
        return RunnerLoad(running=self.running - 1, open_at=self.open_at)

    def lost(self, now: float) -> RunnerLoad:
        """Return it without its runs, and closed for a time that doubles with each loss in a row."""
        cool_down_s = _doubled(FIRST_COOL_DOWN_S, self.losses, MAX_COOL_DOWN_S)
        return RunnerLoad(losses=self.losses + 1, open_at=now + cool_down_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """The bounds between which a pool of runners grows and shrinks."""

    min_runners: int = 1
    """There are at least so many runners."""
    max_runners: int = 1
    """There are at most so many runners."""
    runs_per_runner: int = 100
    """The most runs of one submitter at one runner."""
    idle_s: float = 60.0
    """For how many seconds a pool is larger than it needs to be before it shrinks."""

    def __post_init__(self) -> None:
        if not (0 <= self.min_runners <= self.max_runners and self.runs_per_runner >= 1 and self.idle_s >= 0):
            wrong = f"Scaling takes 0 <= min_runners <= max_runners, runs_per_runner >= 1 and idle_s >= 0, not {self}."
            raise ValueError(wrong)


def placed(runners: Sequence[RunnerLoad], *, runs_per_runner: int, now: float) -> int | None:
    """Return the index of the runner for the next run, or None if there is no place now.

    It is the one with the fewest runs, the first of several, of those that are open and have less than
    `runs_per_runner`.
    """
    found, fewest = None, runs_per_runner
    for index, one in enumerate(runners):
        if one.running < fewest and one.open_at <= now:
            found, fewest = index, one.running
            if not fewest:
                break
    return found


def opens_at(runners: Sequence[RunnerLoad], *, runs_per_runner: int) -> float:
    """Return the time from which there is a place, for a run that `placed` gave none; infinite if a run has to end."""
    places = (one.open_at for one in runners if one.running < runs_per_runner)
    return min(places, default=math.inf)


def retry_wait_s(*, losses: int, retries: int, jitter: float) -> float | None:
    """Return the seconds after which a run that has lost so many runners goes on at another one; None if it fails.

    The first loss costs no wait. Who loses one runner after the other may be the reason: the wait is a random part
    (`jitter`, from 0 to 1) of a time that doubles.
    """
    if losses > retries:
        return None
    return 0.0 if losses <= 1 else jitter * _doubled(FIRST_RETRY_S, losses - 2, MAX_RETRY_S)


def wanted_runners(scaling: Scaling, *, runners: int, runs: int, quiet_s: float) -> int:
    """Return how many runners there shall be for `runs`, those that wait for a place among them.

    A pool grows at once. It shrinks when fewer than the `runners` of now have been enough for `quiet_s` seconds, which
    is `idle_s` or more.
    """
    needed = min(max(math.ceil(runs / scaling.runs_per_runner), scaling.min_runners), scaling.max_runners)
    is_kept = needed < runners <= scaling.max_runners and quiet_s < scaling.idle_s
    return runners if is_kept else needed


class PoolSize:
    """The number of runners that a submitter has in use, as its runs come and go."""

    def __init__(self, scaling: Scaling) -> None:
        self._scaling = scaling
        self._needed_at = -math.inf
        self.runners = 0

    def fit(self, runs: int, *, now: float) -> int:
        """Return how many runners are in use for `runs` at the time `now`, in seconds; call it whenever they change."""
        wanted = wanted_runners(self._scaling, runners=self.runners, runs=runs, quiet_s=math.inf)
        if wanted >= self.runners:
            self._needed_at = now
        else:
            quiet_s = now - self._needed_at
            wanted = wanted_runners(self._scaling, runners=self.runners, runs=runs, quiet_s=quiet_s)
        self.runners = wanted
        return wanted


def _doubled(first_s: float, times: int, most_s: float) -> float:
    return min(first_s * 2.0 ** min(times, _MOST_DOUBLINGS), most_s)
