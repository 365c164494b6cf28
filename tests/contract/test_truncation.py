"""Capped text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents.contract import shortened, truncate

FAMILY = "👩‍👩‍👧"


def test_a_text_within_the_limit_is_returned_whole():
    capped = truncate("hello", 5)

    assert (capped.text, capped.total_chars, capped.returned_chars, capped.is_truncated) == ("hello", 5, 5, False)


def test_a_longer_text_keeps_its_head_and_reports_both_counts():
    capped = truncate("hello", 3)

    assert (capped.text, capped.total_chars, capped.returned_chars, capped.is_truncated) == ("hel", 5, 3, True)


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        (f"ab{FAMILY}cd", 4, "ab"),
        (f"ab{FAMILY}cd", 7, f"ab{FAMILY}"),
        ("e\u0301e\u0301", 3, "e\u0301"),
        ("🇩🇪🇫🇷", 3, "🇩🇪"),
    ],
)
def test_a_cut_never_splits_what_a_reader_sees_as_one_character(text, limit, kept):
    assert truncate(text, limit).text == kept


@given(st.text(), st.integers(min_value=1, max_value=40))
def test_a_cut_is_a_head_within_the_limit_and_counts_code_points(text, limit):
    capped = truncate(text, limit)

    assert text.startswith(capped.text)
    assert len(capped.text) == capped.returned_chars <= limit
    assert capped.total_chars == len(text)
    assert capped.is_truncated == (len(text) > limit)


@given(st.text(max_size=40), st.integers(min_value=1, max_value=40))
def test_a_shortened_text_is_within_the_limit_and_says_that_it_is_not_whole(text, limit):
    short = shortened(text, limit)
    assert short == text if len(text) <= limit else short == f"{text[: limit - 1]}…"
    assert len(short) <= max(limit, 1)
