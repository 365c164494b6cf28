"""Limits and budgets put together: who says first, and who says least."""

from decimal import Decimal

import pytest

from ohm_subagents.contract.limits import Budget, Clocks, Limits


@pytest.mark.parametrize(
    ("first", "second", "lowest"),
    [
        (Budget(requests=5), Budget(requests=3, depth=0), Budget(requests=3, depth=0)),
        (Budget(requests=3, tokens=9), Budget(requests=5), Budget(requests=3, tokens=9)),
        (Budget(cost_usd=Decimal("0.3")), Budget(cost_usd=Decimal("0.29")), Budget(cost_usd=Decimal("0.29"))),
        (Budget(spawns=1), None, Budget(spawns=1)),
        (Limits(cap_ms=5, extension="calls"), Limits(cap_ms=4), Limits(cap_ms=4, extension="calls")),
        (Limits(), Limits(extension="calls"), Limits()),
    ],
)
def test_the_lower_of_both_counts_number_by_number(first, second, lowest):
    assert first.lowered(second) == lowest


def test_what_is_said_first_counts_and_the_other_fills_the_rest():
    assert Limits(cap_ms=9, idle_ms=1).over(Limits(cap_ms=2, soft_ms=3)) == Limits(cap_ms=9, idle_ms=1, soft_ms=3)
    assert Budget(depth=0).over(None) == Budget(depth=0)


def test_an_extension_is_as_long_as_the_idle_time_and_no_longer_than_the_soft_limit():
    assert Limits().resolved() == Clocks()
    assert Limits(idle_ms=7).resolved().extend_ms == 7
    assert Limits(soft_ms=6).resolved().extend_ms == 6
    assert Limits(soft_ms=6, extend_ms=8).resolved().extend_ms == 8


def test_a_negative_number_is_a_bug():
    with pytest.raises(ValueError, match=r"Budget\.requests is -1"):
        Budget(requests=-1)
