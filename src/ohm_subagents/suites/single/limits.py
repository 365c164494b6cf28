"""The time limits of an attempt, and the messages of those that were reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ohm_subagents.suite import Limits

if TYPE_CHECKING:
    from ohm_subagents.suite import Guard
    from ohm_subagents.suites.single.settings import SingleSettings

TimeoutReason: TypeAlias = Literal["runtime", "idle"]
_DAY_MS: Final = 86_400_000


def limits_of(settings: SingleSettings) -> Limits:
    """Return the time of an attempt, and if it is set, the time without a whole message or tool result."""
    total_ms, idle_ms = settings.timeout_ms, settings.idle_timeout_ms
    if idle_ms is None:
        long_ms = max(_DAY_MS, total_ms)
        return Limits(soft_ms=total_ms, extend_ms=0, cap_ms=total_ms, idle_ms=long_ms, tool_ms=long_ms)
    return Limits(
        soft_ms=idle_ms, extend_ms=idle_ms, cap_ms=total_ms, idle_ms=idle_ms, tool_ms=idle_ms, extension="messages"
    )


def timeout_of(guard: Guard | None, settings: SingleSettings) -> TimeoutReason | None:
    """Return the suite's limit for a guard of the engine; None for a guard that is no limit of time."""
    match guard:
        case "soft" | "idle" | "tool" if settings.idle_timeout_ms is not None:
            return "idle"
        case "cap" | "soft" | "idle" | "tool":
            return "runtime"
        case _:
            return None


def timed_out(reason: TimeoutReason, settings: SingleSettings) -> str:
    """Say that the limit was reached."""
    if reason == "idle":
        return f"Subagent timed out after {settings.idle_timeout_ms}ms without activity."
    return f"Subagent exceeded maximum runtime after {settings.timeout_ms}ms."
