"""Durations, ages, instants, usage and costs as text for people."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ohm_subagents.contract.usage import Usage

_SMALLEST: Final = Decimal("0.0001")


def duration_text(ms: int) -> str:
    """Write `12.3s`, `3m 05s`, `2h 05m` or `4d 02h`; less than a tenth, and a negative duration, is `0s`."""
    tenths = max(0, ms) // 100
    if not tenths:
        return "0s"
    if tenths < 600:
        return f"{tenths / 10:.1f}s"
    minutes, seconds = divmod(tenths // 10, 60)
    if minutes < 60:
        return f"{minutes}m {seconds:02}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h {minutes:02}m"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours:02}h"


def clock_text(ms: int) -> str:
    """Write a duration that goes on as `duration_text` does, in whole seconds."""
    return duration_text(ms) if ms >= 60_000 else f"{max(0, ms) // 1000}s"


def age_text(ms: int) -> str:
    """Write `12s ago`, in the largest unit that fits."""
    seconds = max(0, ms) // 1000
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit} ago"
    return f"{seconds}s ago"


def instant_text(epoch_ms: int) -> str:
    """Write `2026-01-02 10:00:00 UTC`."""
    return f"{datetime.fromtimestamp(epoch_ms / 1000, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"


def counted(count: int, noun: str) -> str:
    """Write `1 task` or `2 tasks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def usage_parts(usage: Usage) -> list[str]:
    """Write tool calls, tokens and cost, each only where there are any."""
    tokens = usage.input_tokens + usage.output_tokens
    parts = [counted(usage.tool_calls, "tool call")] if usage.tool_calls else []
    parts += [f"{tokens:,} tokens"] if tokens else []
    return parts + ([] if usage.cost_usd is None else [cost_text(usage.cost_usd)])


def cost_text(cost_usd: Decimal) -> str:
    """Write US dollars with four decimals; a smaller amount is `<$0.0001`, not free."""
    return f"<${_SMALLEST}" if 0 < cost_usd < _SMALLEST else f"${cost_usd:.4f}"
