from __future__ import annotations

from pathlib import Path

import pytest

from ohm_subagents.contract import (
    Event,
    RouteResolved,
    RunEnded,
    RunStarted,
    Succeeded,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)
from ohm_subagents.suites.delegate.details import Window
from ohm_subagents.suites.delegate.live_window import LiveWindow


def live(*events: Event, max_lines: int = 15) -> LiveWindow:
    opened = Window(name="scout", session_id="s")
    folded = LiveWindow(
        opened, prompt="Look", max_lines=max_lines, preview_width=80, cwd=Path("/desk"), home=Path("/home/me")
    )
    for event in events:
        folded.add(event)
    return folded


def lines(*events: Event) -> list[tuple[str, str]]:
    return [(line.kind, line.text) for line in live(*events).window().lines]


def call(call_id: str, tool: str, args: str = "{}") -> ToolStarted:
    return ToolStarted(call_id=call_id, tool=tool, args=args)


def back(call_id: str, tool: str, text: str = "", status: str = "success") -> ToolEnded:
    return ToolEnded(call_id=call_id, tool=tool, status=status, text=text)


def test_text_is_shown_line_by_line_as_it_is_streamed() -> None:
    folded = live(TextDelta(text="one\ntw"), TextDelta(text="o\n\n"), TextDelta(text="thr"))
    assert [line.text for line in folded.window().lines] == ["one", "two", "thr"]
    folded.add(TextDelta(text="ee"))
    assert [line.text for line in folded.window().lines] == ["one", "two", "three"]


def test_a_turn_ends_the_line() -> None:
    over = UsageAdded(usage=Usage(requests=1))
    assert lines(TextDelta(text="a"), over, TextDelta(text="b"), ThinkingDelta(text="…"), TextDelta(text="c")) == [
        ("text", "a"),
        ("text", "b"),
        ("text", "c"),
    ]


def test_calls_and_listings_are_tool_lines() -> None:
    assert lines(
        TextDelta(text="I look."),
        call("1", "ls", '{"path":"/desk/src"}'),
        back("1", "ls", "a\nb/"),
        call("2", "find", '{"pattern":"*.py","path":"/home/me/x"}'),
        back("2", "find", "", "error"),
        call("3", "bash", "not json"),
        back("3", "bash", "whatever"),
    ) == [
        ("text", "I look."),
        ("tool", "ls → src"),
        ("tool", "  1 file, 1 dir"),
        ("tool", "find → *.py in ~/x"),
        ("tool", "bash → ..."),
    ]


def test_todos_are_counted_from_the_answers_of_calls_that_succeeded() -> None:
    folded = live(call("1", "write_todos"))
    assert folded.window().todo_total is None
    for event in (
        back("1", "write_todos", "Wrote 2 todo item(s)\n\n\N{EN DASH} [0] a\n\N{EN DASH} [1] b"),
        back("2", "edit_todos", "Completed [0]\n\n✓ [0] a\n\N{EN DASH} [1] b"),
        back("3", "edit_todos", "✓ [0] a\n✓ [1] b", status="error"),
        back("4", "edit_todos", "Error: no todos exist"),
        back("5", "bash", "✓ [0] a"),
    ):
        folded.add(event)
    assert (folded.window().todo_completed, folded.window().todo_total) == (1, 2)


def test_the_list_of_a_conversation_that_goes_on_is_known_from_the_first_answer() -> None:
    answer = "Completed [1]\n\n✓ [0] a\n✓ [1] b\n\N{EN DASH} [2] c"
    window = live(call("1", "edit_todos", '{"action":"complete","indices":[1.0]}'), back("1", "edit_todos", answer))
    assert (window.window().todo_completed, window.window().todo_total) == (2, 3)


def test_the_model_is_the_one_that_does_the_work() -> None:
    folded = live(RouteResolved(provider="openai", model="gpt-5"), RouteResolved(model="gpt-6", provider="unavailable"))
    assert (folded.window().provider, folded.window().model) == ("openai", "gpt-6")


def test_what_becomes_known_elsewhere_is_set() -> None:
    folded = live(TextDelta(text="a"))
    folded.change(status="completed", exit_code=0)
    assert (folded.window().status, folded.window().exit_code, len(folded.window().lines)) == ("completed", 0, 1)


@pytest.mark.parametrize("streamed", ["", "the answer\n"])
def test_an_answer_is_shown_once(streamed: str) -> None:
    ended = RunEnded(outcome=Succeeded(), output="the answer")
    folded = live(RunStarted(prompt="files, Look"), TextDelta(text=streamed), ended)
    assert [line.text for line in folded.window().lines] == ["the answer"]
    assert [message["role"] for message in folded.messages] == ["user", "assistant"]
    assert folded.messages[0]["content"] == [{"type": "text", "text": "Look"}]


def test_the_newest_lines_are_shown_and_many_are_kept() -> None:
    window = live(*(TextDelta(text=f"line {n}\n") for n in range(600)), TextDelta(text="end"), max_lines=2).window()
    assert [line.text for line in window.lines] == ["line 599", "end"]
    assert len(window.all_messages) == 500
    assert window.all_messages[0].text == "line 101"


def test_an_endless_line_is_cut() -> None:
    folded = live(*(TextDelta(text="x" * 100) for _ in range(1000)), TextDelta(text="\nnext"))
    first, second = folded.window().lines
    assert first.text == "x" * 2000 + "…"
    assert second.text == "next"


def test_a_window_in_which_nothing_happened_is_not_made_again() -> None:
    folded = live(TextDelta(text="a"))
    assert folded.window() is folded.window()
