from __future__ import annotations

import pytest

from ohm_subagents.suites.delegate.details import SessionRun
from ohm_subagents.suites.delegate.transcripts import output_text, resume_text, session_text


def run(*messages: dict, status: str = "completed", error: str | None = None) -> SessionRun:
    return SessionRun(session_id="s", task_name="t", prompt="p", status=status, messages=messages, error_message=error)


def said(role: str, *texts: str) -> dict:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def called(name: str, arguments: object = None) -> dict:
    call = {"type": "toolCall", "name": name, "arguments": arguments}
    return {"role": "assistant", "content": [call if arguments is not None else {"type": "toolCall", "name": name}]}


def retold(*messages: dict) -> list[str]:
    """The lines between the header of the only run and the instructions."""
    before, between, after = resume_text([run(*messages)]).partition("\n\nInstructions:")
    assert (between, after) == ("\n\nInstructions:", "")
    heading, *lines = before.removeprefix("Previously:\n\n").split("\n")
    assert heading == f"--- Run 1 (completed, {len(messages)} messages) ---"
    return lines


def test_a_resumed_sub_agent_reads_what_was_said_and_done() -> None:
    both = said("assistant", "The project has 3 main modules...")
    both["content"].append({"type": "toolCall", "name": "read", "arguments": {"path": "src/index.ts"}})
    lines = retold(said("user", "Analyze the codebase..."), both, said("toolResult", "export interface Config {...}"))
    assert lines == [
        "User: Analyze the codebase...",
        "Assistant: The project has 3 main modules...",
        "Tool Call: read(src/index.ts)",
        "Tool Result: export interface Config {...}",
    ]


def test_runs_are_numbered_and_end_with_their_error() -> None:
    failed = run(said("user", "first prompt"), status="error", error="Timed out after 300s.")
    assert resume_text([failed, run(said("user", "second prompt"), said("assistant", "done"))]) == (
        "Previously:\n\n"
        "--- Run 1 (error, 1 messages) ---\nUser: first prompt\n[Error: Timed out after 300s.]\n\n"
        "--- Run 2 (completed, 2 messages) ---\nUser: second prompt\nAssistant: done\n\n"
        "Instructions:"
    )


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (None, "{}"),
        ({}, "{}"),
        ({"path": "a.ts"}, "a.ts"),
        ({"limit": 5}, '{"limit":5}'),
        ({"path": "a.ts", "limit": 5}, '{"path":"a.ts","limit":5}'),
        ({"command": "x" * 200}, "x" * 120),
        ({"n": 1, "data": "x" * 200}, '{"n":1,"data":"' + "x" * 105),
        ({"query": "é"}, "é"),
        ([1], "[1]"),
        ("bare", '"bare"'),
    ],
)
def test_the_arguments_of_a_call_are_previewed(arguments: object, shown: str) -> None:
    assert retold(called("tool", arguments)) == [f"Tool Call: tool({shown})"]


@pytest.mark.parametrize(("length", "shown"), [(500, "B" * 500), (501, "B" * 500 + "...")])
def test_a_long_result_is_cut(length: int, shown: str) -> None:
    assert retold(said("toolResult", "B" * length)) == [f"Tool Result: {shown}"]
    assert session_text([run(said("toolResult", "B" * length))]) == f"[tool result]: {shown}"


STRANGE = [
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hidden"}, {"type": "text", "text": "x"}]},
    {"role": "custom", "content": "y"},
    {"role": "toolResult", "content": [{"type": "image", "data": ""}]},
    {"role": "user", "content": None},
    {"role": "assistant", "content": [None, 3, {"type": "toolCall", "name": {}}, {"type": "text", "text": 3}]},
    {"role": ["assistant"], "content": "y"},
    {"content": "no role"},
    {},
]


def test_what_is_no_text_and_no_call_is_left_out() -> None:
    assert retold(*STRANGE) == ["Assistant: x"]
    assert session_text([run(*STRANGE)]) == "x"
    assert output_text(run(*STRANGE)) == "x"


def test_arguments_too_deep_to_be_written_are_left_out() -> None:
    deep: object = []
    for _ in range(100_000):
        deep = [deep]
    bottomless = SessionRun.model_construct(
        session_id="s", task_name="t", prompt="p", status="completed", messages=(called("t", {"deep": deep}),)
    )
    assert session_text([bottomless]) == "→ t: {}"


def test_a_text_that_no_encoding_can_write_is_marked() -> None:
    broken = SessionRun.model_construct(
        session_id="s", task_name="t", prompt="p", status="completed", messages=(said("assistant", "a\ud800é"),)
    )
    assert session_text([broken]) == output_text(broken) == "a?é"
    assert "Assistant: a?é" in resume_text([broken])


def test_a_session_of_one_run_has_no_header_and_no_prompt() -> None:
    messages = (said("user", "hidden"), said("assistant", "one", "two"), called("bash", {"command": "ls"}))
    shown = 'one\ntwo\n→ bash: {"command":"ls"}\n[tool result]: a.ts'
    assert session_text([run(*messages, said("toolResult", "a.ts"))]) == shown


def test_several_runs_are_headed_and_set_apart() -> None:
    runs = [run(said("assistant", "first")), run(), run(said("assistant", "third"), status="error", error="broke")]
    assert session_text(runs) == (
        "=== Run 1/3 (completed) ===\nfirst\n---\n"
        "=== Run 2/3 (completed) ===\n---\n"
        "=== Run 3/3 (error) ===\nthird\n[Error: broke]"
    )


def test_a_run_in_which_nothing_was_said_says_so() -> None:
    assert session_text([run(said("user", "hidden"))]) == "(no messages in session)"
    assert output_text(run(called("bash"), said("assistant", " \n"))) == "(no text output from sub-agent)"


def test_the_output_is_the_last_message_with_text() -> None:
    messages = (said("assistant", "early"), said("assistant", "the", "answer"), called("bash"), said("user", "ok"))
    assert output_text(run(*messages)) == "the\nanswer"
