"""The line that says how a task has ended."""

from __future__ import annotations

import pytest

from ohm_subagents.contract import TextDelta
from ohm_subagents.views import doing_text


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("# Where login is checked\n\nIn `src/auth.py`, and **nowhere** else.", "In src/auth.py, and nowhere else."),
        ("## One\n### Two\n- a list", "a list"),
        ("# Only a heading\n\n---\n", "Only a heading"),
        ("#1 is the bug.\nMore.", "1 is the bug."),
        ("", "So far."),
    ],
)
def test_the_first_line_of_an_answer_that_is_no_heading_stands_for_it(succeeded, answer: str, line: str) -> None:
    said = TextDelta(text="So far.")
    assert doing_text(succeeded(answer, said), now_ms=9_000) == line
