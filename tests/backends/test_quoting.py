"""What is quoted of somebody else is one line without keys, cut between words."""

import pytest

from ohm_subagents._backends.quoting import quoted

TOKEN = "ghp_" + "a1" * 20


def test_a_long_text_is_cut_before_the_word_that_does_not_fit():
    said = "word " * 58 + TOKEN
    assert quoted(said, ()) == "word " * 57 + "word…"


@pytest.mark.parametrize(
    ("said", "shown"), [("a\n  b. ", "a b"), ("x" * 400, "x" * 300 + "…"), ("my key is", "my *** is")]
)
def test_it_is_one_line_without_secrets(said, shown):
    assert quoted(said, ("key",)) == shown
