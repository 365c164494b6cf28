from __future__ import annotations

import pytest

from ohm_subagents._views.messages import MessageLog, calls_of, messages_of, text_of
from ohm_subagents.contract import (
    Event,
    Failed,
    FollowUpTaken,
    OhmError,
    Recorded,
    RunEnded,
    RunStarted,
    Succeeded,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
)
from ohm_subagents.contract.errors import ErrorCode

CHARGED = UsageAdded(usage=Usage(requests=1))


def called(call_id: str, tool: str = "bash", args: str = '{"command":"ls"}') -> ToolStarted:
    return ToolStarted(call_id=call_id, tool=tool, args=args)


def returned(call_id: str, text: str = "a.ts", status: str = "success") -> ToolEnded:
    return ToolEnded(call_id=call_id, tool="bash", status=status, text=text)


def ended(output: str = "") -> RunEnded:
    return RunEnded(outcome=Succeeded(), output=output)


def told(*events: Event, prompt: str | None = None) -> list[str]:
    """Each message in a few characters: its role, what it says, the names of its calls."""
    log = MessageLog(prompt)
    for event in events:
        log.add(event)
    return [
        " ".join([str(message["role"]), text_of(message), *(f"{name}()" for name, _ in calls_of(message))])
        for message in log.messages
    ]


def test_a_task_is_told_in_messages_as_pi_writes_them() -> None:
    history = [RunStarted(prompt="all of it"), TextDelta(text="I lo"), TextDelta(text="ok."), CHARGED]
    history += [called("1"), returned("1", status="error"), TextDelta(text="Done."), CHARGED, ended("Done.")]
    recorded = [Recorded(at_ms=at, event=event) for at, event in enumerate(history)]
    call = {"type": "toolCall", "id": "1", "name": "bash", "arguments": {"command": "ls"}}
    assert messages_of(recorded, prompt="Look") == (
        {"role": "user", "content": [{"type": "text", "text": "Look"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]},
        {
            "role": "toolResult",
            "content": [{"type": "text", "text": "a.ts"}],
            "toolCallId": "1",
            "toolName": "bash",
            "isError": True,
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    )


def test_without_the_prompt_as_given_the_one_of_the_run_is_told() -> None:
    assert told(RunStarted(prompt="Look")) == ["user Look"]


def test_only_the_first_run_had_the_prompt_as_given() -> None:
    events = (RunStarted(prompt="files, Look"), ended("a"), RunStarted(prompt="More"), FollowUpTaken(prompt="Faster"))
    assert told(*events, prompt="Look") == ["user Look", "assistant a", "user More", "user Faster"]


def test_text_after_a_report_of_usage_is_another_message() -> None:
    assert told(TextDelta(text="a"), CHARGED, TextDelta(text="\n\nb"), CHARGED) == ["assistant a", "assistant b"]
    assert told(TextDelta(text="a"), CHARGED, ThinkingDelta(text="hm"), called("1")) == [
        "assistant a",
        "assistant  bash()",
    ]


def test_calls_that_are_carried_out_at_once_are_in_one_message() -> None:
    events = (CHARGED, called("1"), called("2"), returned("2"), returned("1"), called("3"))
    assert told(*events) == ["assistant  bash() bash()", "toolResult a.ts", "toolResult a.ts", "assistant  bash()"]


def test_a_call_after_a_charged_one_is_another_message() -> None:
    assert told(called("1"), CHARGED, called("2"), CHARGED) == ["assistant  bash()", "assistant  bash()"]


def test_text_before_a_call_and_after_thinking_are_parts_of_their_own() -> None:
    log = MessageLog()
    for event in (TextDelta(text="a"), ThinkingDelta(text="hm"), TextDelta(text="b")):
        log.add(event)
    assert log.messages == (
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    )


def test_the_message_that_is_being_written_is_seen_and_goes_on() -> None:
    log = MessageLog()
    log.add(TextDelta(text="so "))
    before = log.messages
    log.add(TextDelta(text="far"))
    assert [text_of(message) for message in (*before, *log.messages)] == ["so ", "so far"]


@pytest.mark.parametrize(
    ("said", "output", "news"),
    [
        ((), "answer", True),
        ((TextDelta(text="answer\n"),), "answer", False),
        ((TextDelta(text="first"), called("1"), returned("1"), TextDelta(text="answer")), "answer", False),
        ((TextDelta(text="first"), called("1"), returned("1"), TextDelta(text="answer")), "first\n\nanswer", False),
        ((TextDelta(text="answer"), called("1"), returned("1")), "answer", False),
        ((TextDelta(text="The answer"),), "answer", True),
        ((TextDelta(text="x"),), " \n", False),
    ],
)
def test_an_answer_that_was_not_streamed_is_the_last_message(said: tuple[Event, ...], output: str, news: bool) -> None:
    before = told(RunStarted(prompt="p"), *said)
    assert told(RunStarted(prompt="p"), *said, ended(output)) == before + ([f"assistant {output}"] if news else [])


def test_an_answer_is_held_against_what_its_own_run_said() -> None:
    events = (RunStarted(prompt="p"), ended("yes"), RunStarted(prompt="q"), ended("yes"))
    assert told(*events) == ["user p", "assistant yes", "user q", "assistant yes"]


def test_what_a_run_that_failed_has_said_is_kept() -> None:
    failed = RunEnded(outcome=Failed(error=OhmError(code=ErrorCode.BACKEND_FAILED, message="m")), output="so far")
    assert told(TextDelta(text="so far"), failed) == ["assistant so far"]


def test_events_that_are_no_messages_tell_nothing() -> None:
    assert told(ToolUpdated(call_id="1", tool="bash", text="…"), CHARGED, TextDelta(text="")) == []


@pytest.mark.parametrize("args", ["", "ls -la", "[1]", "null", '{"a":NaN}', '{"a":"\\ud800"}', "[" * 100_000])
def test_arguments_that_are_no_json_object_are_none(args: str) -> None:
    log = MessageLog()
    log.add(called("1", args=args))
    assert list(calls_of(log.messages[0])) == [("bash", {})]


def test_of_many_messages_the_newest_are_kept() -> None:
    calls = [event for n in range(300) for event in (called(str(n)), returned(str(n), text=str(n)))]
    kept = told(*calls, TextDelta(text="end"))
    assert len(kept) == 500
    assert (kept[0], kept[-1]) == ("toolResult 50", "assistant end")


@pytest.mark.parametrize("content", [None, 3, {}, [1, None, "x", {"type": "text"}, {"type": "image", "text": "x"}]])
def test_a_message_of_another_make_has_no_text_and_no_calls(content: object) -> None:
    assert text_of({"content": content}) == ""
    assert list(calls_of({"content": content})) == []


def test_a_content_may_be_a_bare_text() -> None:
    assert text_of({"content": "hello"}) == "hello"
    assert text_of({}) == ""
    assert list(calls_of({"content": [{"type": "toolCall", "name": 3}, {"type": "toolCall", "name": "t"}]})) == [
        ("t", None)
    ]
