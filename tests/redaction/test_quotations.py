"""A quotation of somebody else has no keys: one line cut between words, or the detail of a failure as it is."""

import pytest

from ohm_subagents.backends.pi.failures import detail
from ohm_subagents.redaction import redacted_line

TOKEN = "ghp_" + "a1" * 20


def test_a_long_text_is_cut_before_the_word_that_does_not_fit():
    said = "word " * 58 + TOKEN
    assert redacted_line(said, ()) == "word " * 57 + "word…"


@pytest.mark.parametrize(
    ("said", "shown"), [("a\n  b. ", "a b"), ("x" * 400, "x" * 300 + "…"), ("my key is", "my *** is")]
)
def test_it_is_one_line_without_secrets(said, shown):
    assert redacted_line(said, ("key",)) == shown


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


@pytest.mark.parametrize("spelt", ['say \\"please\\"', "say%20%22please%22", "c2F5ICJwbGVhc2Ui"])
def test_a_known_secret_is_cut_in_any_spelling(spelt):
    assert redacted_line(f"no route for {spelt} today", ('say "please"',)) == "no route for *** today"
