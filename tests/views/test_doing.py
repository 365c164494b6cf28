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
        ("#1 is the bug.\nMore.\n\nElse.", "1 is the bug. More."),
        ("name: finder\nfound: 2", "name: finder · found: 2"),
        ("Two callers:\n\n- `a.py`\n- `b.py`\n\nElse.", "Two callers: a.py · b.py"),
        ("Run it:\n\n```\nmake test\nmake all\n```", "Run it: make test"),
        (
            "It is read where the session begins and where it\nends.",
            "It is read where the session begins and where it ends.",
        ),
        ("", "So far."),
    ],
)
def test_the_first_paragraph_of_an_answer_that_is_no_heading_stands_for_it(succeeded, answer: str, line: str) -> None:
    said = TextDelta(text="So far.")
    assert doing_text(succeeded(answer, said), now_ms=9_000) == line
