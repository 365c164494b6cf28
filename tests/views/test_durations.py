from __future__ import annotations

import pytest

from ohm_subagents._views.durations import age_text, duration_text, instant_text

S, M, H = 1_000, 60_000, 3_600_000


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (-5, "0.0s"),
        (99, "0.0s"),
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
    ("ms", "shown"),
    [(-S, "0s ago"), (59 * S, "59s ago"), (M, "1m ago"), (H - 1, "59m ago"), (23 * H, "23h ago"), (49 * H, "2d ago")],
)
def test_an_age_has_one_unit(ms: int, shown: str) -> None:
    assert age_text(ms) == shown


def test_a_moment_is_told_in_utc() -> None:
    assert instant_text(1_767_348_000_999) == "2026-01-02 10:00:00 UTC"
