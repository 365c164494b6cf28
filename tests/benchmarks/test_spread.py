"""The arithmetic of the benchmark."""

import random
from statistics import median

import pytest
from spread import interval, number, verdict

STEADY = [1.00, 1.01, 1.02, 1.00, 0.99, 1.01, 1.00, 1.02, 0.98]
NOISY = [0.6, 1.6, 0.7, 1.5, 0.8, 1.4, 0.9, 1.3, 1.1]


@pytest.mark.parametrize(
    ("count", "first"),
    [(1, 1), (2, 1), (5, 1), (6, 1), (8, 1), (9, 2), (15, 4), (25, 8)],
)
def test_an_interval_leaves_out_as_many_values_on_each_side_as_tables_of_the_sign_test_say(count, first):
    values = list(range(1, count + 1))
    random.Random(count).shuffle(values)
    assert interval(values) == (first, count + 1 - first)


def test_19_of_20_intervals_hold_the_median_they_are_about():
    source = random.Random(20)
    drawn = [[source.expovariate(1) for _ in range(25)] for _ in range(2_000)]
    held = sum(low <= 0.6931 <= high for low, high in map(interval, drawn))
    assert 0.94 <= held / len(drawn) <= 0.97


def test_one_slow_repeat_does_not_decide():
    assert verdict([*STEADY, 9.0], 1.1) == "yes"


def test_what_lies_below_its_target_is_met():
    assert verdict(STEADY, 1.05) == "yes"


def test_what_lies_above_is_not_and_both_are_told():
    assert verdict(STEADY, 0.9) == "no: 1.00 of 0.900"


def test_a_spread_that_is_wide_and_holds_the_target_is_not_judged():
    assert interval(NOISY) == (0.7, 1.5)
    assert verdict(NOISY, 1.2) == verdict(NOISY, 1.0) == "too noisy to judge"


def test_a_wide_spread_that_does_not_hold_the_target_is():
    assert verdict(NOISY, 1.55) == "yes"
    assert verdict(NOISY, 0.65).startswith("no: ")


def test_a_narrow_spread_around_the_target_is_judged_by_its_median():
    low, high = interval(STEADY)
    assert low < 1.005 < high
    assert median(STEADY) == 1.0
    assert verdict(STEADY, 1.005) == "yes"
    assert verdict(STEADY, 0.995) == "no: 1.00 of 0.995"


def test_a_target_that_is_just_met_is_met():
    assert verdict([1.15], 1.15) == "yes"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(12_345.6, "12,346"), (99.44, "99.4"), (1.153, "1.15"), (0.0751, "0.075"), (0.0041, "0.0041"), (0, "0")],
)
def test_numbers_have_the_digits_that_count(value, shown):
    assert number(value) == shown
