"""The row of a tool call: its mark, its words, and what came of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from made_tasks import queued_task

from ohm_subagents._terminal.board import Board
from ohm_subagents._views.call_rows import call_row, seen_calls
from ohm_subagents.contract import (
    AnswerAwaited,
    AnswerGiven,
    Approve,
    Recorded,
    Request,
    RunStarted,
    SessionId,
    TaskId,
    ToolEnded,
    ToolStarted,
    apply,
)
from ohm_subagents.views import call_waits, transcript_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.contract import Event, Task

PUSH = ToolStarted(call_id="1", tool="bash", args='{"command":"git push"}')
ASKED = AnswerAwaited(
    request=Request(
        id="req_1", task_id=TaskId("task_1"), session_id=SessionId("s"), path=(), profile="p", tool="bash", call_id="1"
    )
)
YES = AnswerGiven(request_id="req_1", answer=Approve(), by="terminal")


def shown(task: Task) -> str:
    (call,) = seen_calls(task.activity.calls)
    return "".join(text for _, text in call_row(call, task, now_ms=60_000))


@pytest.mark.parametrize(
    ("output", "gist"),
    [
        ("make: *** No rule.\n\n[Exit code 2.]", "exit code 2: make: *** No rule."),
        ("[Exit code 1.]", "exit code 1"),
        ("no\nmore\n\nCommand exited with code 3", "exit code 3: no"),
        ("The command was stopped after 120 seconds.", "The command was stopped after 120 seconds."),
    ],
)
def test_a_command_that_has_failed_shows_its_exit_code(output: str, gist: str, running: Callable[..., Task]) -> None:
    ended = ToolEnded(call_id="1", tool="bash", status="error", text=output)
    assert shown(running(PUSH, ended)) == f"✕ bash git push · {gist}"


@pytest.mark.parametrize(
    ("events", "row"),
    [
        ((PUSH, ASKED), "? bash git push · waits to be approved"),
        ((PUSH, ASKED, YES), "⠏ bash git push · 59s"),
    ],
    ids=["asked", "approved"],
)
def test_a_call_that_waits_to_be_approved_does_not_look_as_if_it_runs(
    events: tuple[Event, ...], row: str, running: Callable[..., Task]
) -> None:
    assert shown(running(*events)).startswith(row)


def test_the_time_of_a_call_is_that_of_its_work_and_its_wait_for_an_answer_is_told_apart() -> None:
    asked = AnswerAwaited(request=replace(ASKED.request, asked_ms=6_000))
    ended = ToolEnded(call_id="1", tool="bash", status="success", text="pushed")
    events = [(PUSH, 5_000), (asked, 6_000), (YES, 42_000), (ended, 44_000)]
    task = queued_task()
    for event, at_ms in ((RunStarted(prompt="p"), 5_000), *events):
        task = apply(task, event, at_ms=at_ms)
    history = [Recorded(at_ms=at_ms, event=event) for event, at_ms in events]
    (call,) = seen_calls(task.activity.calls)
    row = call_row(call, task, now_ms=60_000, waits=call_waits(history))
    assert "".join(text for _, text in row) == "✓ bash git push · 3s · asked 36s · pushed"
    assert "✓ bash git push · 3s · asked 36s · +5.0s" in [*transcript_lines(task, history)]
    board = Board()
    state = apply(queued_task(), RunStarted(prompt="p"), at_ms=5_000)
    for event, at_ms in events:
        state = apply(state, event, at_ms=at_ms)
        board.notify(state, event)
    assert "├── ✓ bash git push · 3s · asked 36s · pushed\n" in board.frame(80, 24)
