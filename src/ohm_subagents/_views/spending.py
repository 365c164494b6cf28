"""The usage of a task, in words."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ohm_subagents.contract.usage import Usage

_SMALLEST: Final = Decimal("0.0001")


def usage_parts(usage: Usage) -> list[str]:
    """Tool calls, tokens and cost, each only where there are any."""
    tokens = usage.input_tokens + usage.output_tokens
    parts = [f"{usage.tool_calls} tool call(s)"] if usage.tool_calls else []
    parts += [f"{tokens:,} tokens"] if tokens else []
    return parts + ([] if usage.cost_usd is None else [cost_text(usage.cost_usd)])


def cost_text(cost_usd: Decimal) -> str:
    """US dollars with four decimals; what is less than the last of them is not called free."""
    return f"<${_SMALLEST}" if 0 < cost_usd < _SMALLEST else f"${cost_usd:.4f}"
