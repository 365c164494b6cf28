from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ohm_subagents._views.reply_lines import lines_of
from ohm_subagents._views.task_texts import task_title
from ohm_subagents._views.tree_entries import entry_of, entry_of_line
from ohm_subagents.contract import (
    CommandRejected,
    ErrorCode,
    ItemRejected,
    OhmError,
    Reply,
    StartItem,
    StartReply,
    TextDelta,
)

if TYPE_CHECKING:
    from ohm_subagents._views.tree import TreeEntry

TIMED_OUT = OhmError(code=ErrorCode.BACKEND_TIMEOUT, message="Timed out after 180s.", advice="Raise the limit.")
ITEM = StartItem(profile="oracle", description="Auth scan", prompt="Trace auth")


def entries_of(reply: Reply, *, batch: bool = False) -> list[TreeEntry]:
    def draw(task) -> TreeEntry:
        return entry_of(task, expanded=False, output_max_chars=10)

    return [entry_of_line(line, draw) for line in lines_of(reply, batch=batch).lines]


def refused(**changes: object) -> ItemRejected:
    return ItemRejected(item=ITEM, **changes)


def result_of(task, *, expanded: bool = False, output_max_chars: int = 8000) -> str:
    return entry_of(task, expanded=expanded, output_max_chars=output_max_chars).result


@pytest.mark.parametrize(
    ("profile", "description", "expected"),
    [("finder", "Scan", "Finder · Scan"), ("finder", "", "Finder"), ("", "Scan", "Scan")],
)
def test_the_title_is_the_type_and_the_description(profile: str, description: str, expected: str) -> None:
    assert task_title(profile, description) == expected


def test_collapsed_shows_the_last_line_of_the_answer_and_expanded_all(succeeded) -> None:
    task = succeeded("line one\n\n   line two  \n")
    assert result_of(task) == "line two"
    assert result_of(task, expanded=True) == "line one\nline two"


@pytest.mark.parametrize(
    "line",
    ["model: yaml", "Read src/a.ts", "$ ls", "tool(read): a.ts", "✓ done", "user: hi", "assistant> yes", "system: no"],
)
def test_an_answer_that_looks_like_a_tool_call_is_still_the_answer(succeeded, line: str) -> None:
    """Q39: the reference takes such lines out of the answer and shows them nowhere."""
    assert result_of(succeeded(f"first\n{line}")) == line
    assert result_of(succeeded(f"first\n{line}"), expanded=True) == f"first\n{line}"


def test_an_answer_of_whitespace_is_an_answer(succeeded) -> None:
    assert result_of(succeeded(" \n ")) == "(no output)"


@pytest.mark.parametrize(
    ("output", "cap", "shown"),
    [
        ("abcdefghij", 10, "abcdefghij"),
        ("abcdefghijk", 10, "abcdefghij (truncated 10/11 chars)"),
        # Q19: the reference cuts these in two.
        ("😀😀😀", 2, "😀😀 (truncated 2/3 chars)"),
        ("👨‍👩‍👧x", 3, "(no output) (truncated 0/6 chars)"),
    ],
)
def test_a_capped_answer_says_how_much_is_shown(succeeded, output: str, cap: int, shown: str) -> None:
    assert result_of(succeeded(output), output_max_chars=cap) == shown


def test_a_running_task_works(running) -> None:
    assert result_of(running(TextDelta(text="half an"))) == "Working..."


def test_a_failed_task_tells_its_error(failed) -> None:
    assert result_of(failed(TIMED_OUT, said="half")) == "Timed out after 180s."


def test_a_cancelled_task_says_so(cancelled) -> None:
    assert result_of(cancelled()) == "Task cancelled."


def test_a_task_without_output_shows_what_it_said_else_its_summary(succeeded) -> None:
    assert result_of(succeeded("", TextDelta(text="Hello "), TextDelta(text="world"))) == "Hello world"
    assert result_of(succeeded("")) == "Starting Finder: Auth scan"


def test_a_blank_prompt_is_replaced_by_the_description(succeeded) -> None:
    assert entry_of(succeeded(prompt=" "), expanded=False, output_max_chars=10).prompt == "Auth scan"


def test_a_refused_item_keeps_its_name_and_description() -> None:
    error = OhmError(code=ErrorCode.PERMISSION_DENIED, message="Subagent 'oracle' is denied.")
    (entry,) = entries_of(StartReply(items=(refused(error=error, profile="oracle"),), backend="b"))
    assert (entry.status, entry.title, entry.prompt) == ("failed", "Oracle · Auth scan", "Auth scan")
    assert entry.result == "Subagent 'oracle' is denied."


def test_an_unknown_profile_is_titled_by_the_summary_of_its_error() -> None:
    error = OhmError(code=ErrorCode.UNKNOWN_SUBAGENT_TYPE, message="No profile.", summary="Unknown subagent_type 'x'")
    (entry,) = entries_of(StartReply(items=(refused(error=error),), backend="b"))
    assert (entry.title, entry.prompt, entry.result) == ("Unknown subagent_type 'x'", None, "No profile.")


def test_a_refused_item_of_a_batch_is_named_by_its_place() -> None:
    item = refused(error=TIMED_OUT, profile="oracle")
    _, entry = entries_of(StartReply(items=(item, item), backend="b"), batch=True)
    assert (entry.title, entry.prompt) == ("Task task_batch_2", "Resolve task task_batch_2")


def test_an_error_without_a_summary_is_its_own_title() -> None:
    (entry,) = entries_of(CommandRejected(error=TIMED_OUT, backend="b"))
    assert (entry.title, entry.prompt, entry.result) == ("Timed out after 180s.", None, None)
