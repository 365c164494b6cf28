"""How long a run of an agent may take, and what is said of one that took longer."""

from __future__ import annotations

from typing import Final

from ohm_subagents.suite import FOREVER_MS, Limits

LATE: Final = "The subagent took longer than suiteOptions.sticky.timeoutMs of ohm.json"
_UNLIMITED: Final = Limits(soft_ms=FOREVER_MS, cap_ms=FOREVER_MS, idle_ms=FOREVER_MS, tool_ms=FOREVER_MS)


def limits_of(timeout_ms: int | None, said: Limits) -> Limits:
    """The time of the suite's option, then what the configuration `said` of every run; there is no other limit."""
    own = Limits() if timeout_ms is None else Limits(soft_ms=timeout_ms, extend_ms=0, cap_ms=timeout_ms)
    return own.over(said).over(_UNLIMITED)


def late(timeout_ms: int | None) -> str:
    """That the time of the option is over; the engine has words of its own for every other clock."""
    return "" if timeout_ms is None else f"{LATE}: {timeout_ms} ms."
