"""The line that says what a task does, or how it has ended."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pytest
from made_tasks import queued_task

from ohm_subagents.contract import RouteResolved, RunStarted, TextDelta, ToolStarted, apply
from ohm_subagents.views import PLAIN, LiveTask, doing_text, task_block

if TYPE_CHECKING:
    from ohm_subagents.contract import Event, Task


def started(*events: Event, at_ms: int) -> Task:
    told = (RunStarted(prompt="p"), *events)
    return reduce(lambda state, event: apply(state, event, at_ms=at_ms), told, queued_task())


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


@pytest.mark.parametrize(("now_ms", "said"), [(9_900, "I read first."), (10_000, "Waits for openai/gpt-4o.")])
def test_words_of_long_ago_are_no_sign_of_what_a_task_does_now(now_ms: int, said: str) -> None:
    routed = RouteResolved(provider="openai", model="gpt-4o")
    task = started(routed, TextDelta(text="I read first."), at_ms=5_000)
    assert doing_text(task, now_ms=now_ms) == said
    tree = task_block(LiveTask(task), now_ms=now_ms, width=80, theme=PLAIN)
    assert tree[-1].endswith(said)
    called = started(routed, ToolStarted(call_id="1", tool="bash", args="{}"), at_ms=5_000)
    assert "bash" in doing_text(called, now_ms=20_000)
    thinks = LiveTask(started(routed, at_ms=9_000), thinking="Which one?")
    assert task_block(thinks, now_ms=10_000, width=80, theme=PLAIN)[-1].endswith("Thinking: Which one?")
