"""The row of a tool call: its mark, its words, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ohm_subagents._views.call_rows import call_row, seen_calls
from ohm_subagents.contract import (
    AnswerAwaited,
    AnswerGiven,
    Approve,
    Request,
    SessionId,
    TaskId,
    ToolEnded,
    ToolStarted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.contract import Event, Task

PUSH = ToolStarted(call_id="1", tool="bash", args='{"command":"git push"}')
ASKED = AnswerAwaited(
    request=Request(
        id="req_1", task_id=TaskId("task_1"), session_id=SessionId("s"), path=(), profile="p", tool="bash", call_id="1"
    )
)


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
        ((PUSH, ASKED, AnswerGiven(request_id="req_1", answer=Approve(), by="terminal")), "⠏ bash git push · 59s"),
    ],
    ids=["asked", "approved"],
)
def test_a_call_that_waits_to_be_approved_does_not_look_as_if_it_runs(
    events: tuple[Event, ...], row: str, running: Callable[..., Task]
) -> None:
    assert shown(running(*events)).startswith(row)
