from __future__ import annotations

from decimal import Decimal

import pytest

from ohm_subagents._views.quantities import age_text, clock_text, cost_text, duration_text, instant_text, usage_parts
from ohm_subagents.contract import Usage

S, M, H = 1_000, 60_000, 3_600_000


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (-5, "0s"),
        (99, "0s"),
        (12_345, "12.3s"),
        (M - 1, "59.9s"),
        (M, "1m 00s"),
        (H - 1, "59m 59s"),
        (2 * H + 5 * M, "2h 05m"),
        (24 * H, "1d 00h"),
        (100 * H, "4d 04h"),
    ],
)
def test_a_duration_has_two_units_at_most(ms: int, shown: str) -> None:
    assert duration_text(ms) == shown


@pytest.mark.parametrize(
    ("ms", "shown"), [(-5, "0s"), (12_345, "12s"), (M - 1, "59s"), (494_300, "8m 14s"), (26 * H, "1d 02h")]
)
def test_a_clock_that_goes_on_has_whole_seconds(ms: int, shown: str) -> None:
    assert clock_text(ms) == shown
    assert ms < M or shown == duration_text(ms)


@pytest.mark.parametrize(
    ("ms", "shown"),
    [(-S, "0s ago"), (59 * S, "59s ago"), (M, "1m ago"), (H - 1, "59m ago"), (23 * H, "23h ago"), (49 * H, "2d ago")],
)
def test_an_age_has_one_unit(ms: int, shown: str) -> None:
    assert age_text(ms) == shown


def test_a_moment_is_told_in_utc() -> None:
    assert instant_text(1_767_348_000_999) == "2026-01-02 10:00:00 UTC"


def test_only_what_was_consumed_is_told() -> None:
    assert usage_parts(Usage()) == []
    assert usage_parts(Usage(requests=1, tool_calls=2)) == ["2 tool calls"]
    spent = Usage(requests=1, input_tokens=1_200, output_tokens=34, tool_calls=1, cost_usd=Decimal("0.25"))
    assert usage_parts(spent) == ["1 tool call", "1,234 tokens", "$0.2500"]


@pytest.mark.parametrize(
    ("cost", "shown"), [("0", "$0.0000"), ("0.00001", "<$0.0001"), ("0.0001", "$0.0001"), ("12.34567", "$12.3457")]
)
def test_what_costs_little_is_not_called_free(cost: str, shown: str) -> None:
    assert cost_text(Decimal(cost)) == shown
