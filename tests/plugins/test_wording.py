"""What is quoted of somebody else has no keys: one line cut between words, or the detail of a failure as it is."""

import pytest

from ohm_subagents._plugins.wording import quoted
from ohm_subagents.backends.pi.failures import detail

TOKEN = "ghp_" + "a1" * 20


def test_a_long_text_is_cut_before_the_word_that_does_not_fit():
    said = "word " * 58 + TOKEN
    assert quoted(said, ()) == "word " * 57 + "word…"


@pytest.mark.parametrize(
    ("said", "shown"), [("a\n  b. ", "a b"), ("x" * 400, "x" * 300 + "…"), ("my key is", "my *** is")]
)
def test_it_is_one_line_without_secrets(said, shown):
    assert quoted(said, ("key",)) == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (" one\n  two.\n", "one\n  two."),
        ("x" * 260, "x" * 260),
        ("x" * 261, "x" * 259 + "…"),
        ("é" * 261, "é" * 259 + "…"),
        ("🎉" * 130, "🎉" * 130),
        ("🎉" * 131, "🎉" * 129 + "…"),
        ("my key\nis", "my ***\nis"),
        (" \n ", ""),
    ],
)
def test_the_detail_of_a_failure_keeps_its_lines_and_260_units(said, shown):
    assert detail(said, ("key",)) == shown
