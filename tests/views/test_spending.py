from __future__ import annotations

from decimal import Decimal

import pytest

from ohm_subagents._views.spending import cost_text, usage_parts
from ohm_subagents.contract import Usage


def test_only_what_was_consumed_is_told() -> None:
    assert usage_parts(Usage()) == []
    assert usage_parts(Usage(requests=1, tool_calls=2)) == ["2 tool call(s)"]
    spent = Usage(requests=1, input_tokens=1_200, output_tokens=34, tool_calls=1, cost_usd=Decimal("0.25"))
    assert usage_parts(spent) == ["1 tool call(s)", "1,234 tokens", "$0.2500"]


@pytest.mark.parametrize(
    ("cost", "shown"), [("0", "$0.0000"), ("0.00001", "<$0.0001"), ("0.0001", "$0.0001"), ("12.34567", "$12.3457")]
)
def test_what_costs_little_is_not_called_free(cost: str, shown: str) -> None:
    assert cost_text(Decimal(cost)) == shown
