from __future__ import annotations

import pytest

from ohm_subagents._views.answer import assistant_text
from ohm_subagents._views.task_texts import tool_rows
from ohm_subagents.contract import TextDelta, ThinkingDelta, ToolEnded, ToolStarted, ToolUpdated


def test_each_tool_event_is_one_row_in_order(running) -> None:
    task = running(
        TextDelta(text="Looking."),
        ToolStarted(call_id="1", tool="read", args='{"path":"a.ts"}'),
        ToolUpdated(call_id="1", tool="read", text="12 lines"),
        ToolEnded(call_id="1", tool="read", status="success", text="done"),
        ThinkingDelta(text="hm"),
        ToolStarted(call_id="2", tool="bash"),
        ToolEnded(call_id="2", tool="bash", status="error", text="exit 1"),
    )
    assert tool_rows(task) == ('○ read {"path":"a.ts"}', "… read 12 lines", "✓ read done", "○ bash", "✕ bash exit 1")


def test_an_interrupted_call_is_a_failed_row(cancelled) -> None:
    task = cancelled(
        ToolStarted(call_id="1", tool="bash", args="sleep"), ToolEnded(call_id="1", tool="bash", status="interrupted")
    )
    assert tool_rows(task) == ("○ bash sleep", "✕ bash")


@pytest.mark.parametrize(
    ("payload", "row"),
    [
        ("  padded  ", "○ bash padded"),
        (" \n ", "○ bash"),
        ("x" * 90, "○ bash " + "x" * 90),
        ("y" * 91, "○ bash " + "y" * 89 + "…"),
        # Q20: the reference cuts an emoji in two here.
        ("z" * 88 + "👨‍👩‍👧" + "z", "○ bash " + "z" * 88 + "…"),
        # golden "multi-line payload kept verbatim": the row keeps it, the tree shows its first line.
        ("a\nb\nc", "○ bash a\nb\nc"),
    ],
)
def test_a_payload_is_trimmed_and_cut_at_ninety_between_graphemes(running, payload: str, row: str) -> None:
    assert tool_rows(running(ToolStarted(call_id="1", tool="bash", args=payload))) == (row,)


def test_texts_of_two_turns_do_not_run_together(running) -> None:
    task = running(TextDelta(text="First."), ToolStarted(call_id="1", tool="ls"), TextDelta(text="Then. "))
    assert assistant_text(task) == "First.\n\nThen."


def test_blank_assistant_text_is_empty(running) -> None:
    assert assistant_text(running(TextDelta(text=" \n"))) == ""
