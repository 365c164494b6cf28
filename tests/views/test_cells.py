from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wcwidth import width as cells_of

from ohm_subagents._views.cells import _NARROW, cells, cut_lines, fit, hung, printable, wrap


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("日本語", 6), ("😀", 2), ("e\u0301", 1), ("a\tb", 5), ("a\x07c", 2), ("👨‍👩‍👧", 2)],
)
def test_width_is_counted_in_terminal_cells(text: str, width: int) -> None:
    assert cells(text) == width


@pytest.mark.parametrize(
    ("line", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("日本語日", 7, "日本語…"),
        ("日本語日", 6, "日本…"),
        ("ab cdef", 4, "ab…"),
        ("xxxe\u0301e\u0301", 4, "xxx…"),
    ],
)
def test_a_line_too_wide_is_cut_between_graphemes_and_says_so(line: str, width: int, shown: str) -> None:
    assert fit(line, width) == shown


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("a\n\nb", 8, ["a", "", "b"]),
        ("to " + "x" * 20, 8, ["to", "xxxxxxxx", "xxxxxxxx", "xxxx"]),
        ("日本語日本語", 5, ["日本", "語日", "本語"]),
        ("tail   ", 8, ["tail"]),
        ("  indented", 20, ["  indented"]),
        ("  " + "x" * 8, 8, ["xxxxxxxx"]),
        ("  " + "x" * 7, 8, ["xxxxxxx"]),
        ("  " + "x" * 9, 8, ["xxxxxxxx", "x"]),
    ],
)
def test_words_wrap_and_a_long_word_is_broken(text: str, width: int, lines: list[str]) -> None:
    assert list(wrap(text, width)) == lines


def test_a_subagent_cannot_drive_the_terminal_of_its_reader() -> None:
    assert printable("\x1b[31mred\x1b[0m \x1b]0;title\x07done \x1b") == "red done "


def test_half_a_character_is_shown_as_one_that_is_missing() -> None:
    assert printable("a\ud83d b\udc80\u202ec") == "a? b?c"


@settings(deadline=None)
@given(st.text(), st.integers(min_value=8, max_value=40))
def test_wrapping_keeps_every_visible_character_and_the_width(text: str, width: int) -> None:
    lines = list(wrap(text, width))
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@settings(deadline=None)
@given(st.text(), st.integers(min_value=8, max_value=40))
def test_a_fitted_line_fits(text: str, width: int) -> None:
    assert cells(fit(text, width)) <= width


def test_a_line_that_is_too_wide_goes_on_indented_more_than_a_line_of_its_own_kind() -> None:
    assert [*hung("a short line\n  command: git push  because of a rule\none two three", 24)] == [
        "a short line",
        "  command: git push",
        "    because of a rule",
        "one two three",
    ]
    assert [*hung("one two three four", 9)] == ["one two", "three", "four"]


@settings(deadline=None)
@given(st.text(), st.integers(min_value=8, max_value=40))
def test_a_hung_text_keeps_all_its_words(text: str, width: int) -> None:
    lines = [*hung(printable(text), width)]
    assert "".join("".join(lines).split()) == "".join(printable(text).split())
    assert max(map(cells, lines)) <= width


@pytest.mark.parametrize("word", ["word ", "word"], ids=["words", "one word"])
def test_the_first_lines_of_a_long_line_cost_no_look_at_the_rest(word) -> None:
    text = word * 100_000
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        first = next(iter(wrap(text, 80)))
    finally:
        sys.setprofile(None)
    assert (len(first) in {79, 80}, calls < 2000) == (True, True)


def test_each_character_that_is_measured_without_tables_is_one_cell_wide() -> None:
    narrow = [sign for sign in map(chr, range(0x3000)) if _NARROW.fullmatch(sign)]
    assert len(narrow) > 900
    assert {sign for sign in narrow if cells_of(sign, control_codes="ignore") != 1} == set()


def test_the_first_lines_of_many_say_that_more_follow_and_no_others_are_looked_at() -> None:
    lines = iter(["one two", "three", "four"])
    assert cut_lines(lines, width=7, limit=1) == ["one tw…"]
    assert [*lines] == ["four"]
    assert cut_lines(["one", "two"], width=7, limit=2) == ["one", "two"]
    assert cut_lines(["one", "two", "three"], width=7, limit=2) == ["one", "two…"]
