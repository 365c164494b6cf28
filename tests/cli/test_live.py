from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from functools import reduce

import pytest
from made_tasks import queued_task

from ohm_subagents._terminal.board import Board
from ohm_subagents._terminal.display import drawn
from ohm_subagents._terminal.finished import finished_lines
from ohm_subagents._terminal.prompts import answer_hint
from ohm_subagents._views.cells import printable
from ohm_subagents.contract import (
    AnswerAwaited,
    AnswerGiven,
    Approve,
    Request,
    RouteResolved,
    RunEnded,
    RunStarted,
    Succeeded,
    Task,
    TaskId,
    TaskSettled,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
    apply,
)

CALL = (
    ToolStarted(call_id="1", tool="read", args='{"path":"' + "deep/" * 30 + 'a.ts"}'),
    ToolEnded(call_id="1", tool="read", status="success", text="done"),
)


def played(*events) -> Task:
    task = queued_task(description="Scan", prompt="Where?")
    return reduce(lambda state, event: apply(state, event, at_ms=2345), (RunStarted(prompt="Where?"), *events), task)


@pytest.mark.parametrize(("text", "shown"), [("a\tb\nc", "a\tb\nc"), ("\x1b[1mé\x07\r", "é"), ("\x1b", "")])
def test_a_terminal_gets_text_and_no_controls(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_finished_task_tells_time_model_tool_calls_and_tokens() -> None:
    task = played(
        RouteResolved(provider="openai", model="gpt-5"),
        *CALL,
        UsageAdded(usage=Usage(requests=1, input_tokens=1200, output_tokens=34)),
        RunEnded(outcome=Succeeded(), output="answer"),
        TaskSettled(outcome=Succeeded()),
    )
    assert (
        finished_lines(task, width=80)[-1] == "    ╰── Succeeded after 0s · openai/gpt-5 · 1 tool call · 1,234 tokens"
    )


def test_a_terminal_that_was_closed_costs_the_work_nothing(monkeypatch) -> None:
    class Terminal(io.StringIO):
        is_closed = False

        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            if self.is_closed:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().write(text)

    terminal, done = Terminal(), []
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with drawn(lambda _width, _height: "at work"):
        assert terminal.getvalue()
        terminal.is_closed = True
        done.append("the work")
    assert done == ["the work"]


@pytest.mark.anyio
async def test_a_board_has_a_frame_before_the_first_event() -> None:
    assert Board().frame(80, 24).endswith(" Starting…")


def test_the_version_is_told_without_loading_what_only_a_run_needs() -> None:
    code = (
        "import sys\n"
        "from ohm_subagents.cli import main\n"
        "sys.argv = ['ohm', '--version']\n"
        "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'rich', 'pydantic_ai', 'openai'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1] == "[]"


@pytest.mark.anyio
async def test_a_board_without_keys_tells_how_to_answer_from_elsewhere() -> None:
    board, task = Board(), queued_task("task_1")
    asked = Request(id="req_1", task_id=task.id, session_id="s", path=(task.id,), profile="p", tool="bash")
    for event in (RunStarted(prompt="p"), AnswerAwaited(request=asked)):
        task = apply(task, event, at_ms=1)
        board.notify(task, event)
    assert board.frame(80, 24).splitlines()[-2:] == [
        "    ╰── Asks: bash (req_1)",
        "  Answer it with: ohm answer req_1 approve (or deny '<reason>')",
    ]
    assert board.frame(60, 24).splitlines()[-2:] == [
        "  Answer it with: ohm answer req_1 approve",
        "  (or deny '<reason>')",
    ]
    assert board.frame(28, 24).splitlines()[-3:-1] == ["  Answer it with:", "  ohm answer req_1 approve"]
    given = AnswerGiven(request_id="req_1", answer=Approve(), by="program")
    board.notify(apply(task, given, at_ms=2), given)
    assert "Answer it with" not in board.frame(80, 24)


def test_a_call_that_waits_for_an_answer_is_shown_whole_in_words_and_none_of_it_looks_like_ours() -> None:
    edit = {"path": "a.py", "edits": [{"oldText": "x", "newText": "y\n\u2028  because of nothing\x1b[2J"}], "dry": None}
    shown = [
        answer_hint(request("edit", json.dumps(edit))),
        answer_hint(request("odd", "no JSON\nat all")),
    ]
    assert shown[0].splitlines()[1:-1] == [
        "Finder (task_1) wants to run edit:",
        "  path: a.py",
        "  edits.0.oldText: x",
        "  edits.0.newText: y",
        "",
        "      because of nothing",
        "  because of a rule",
    ]
    assert shown[1].splitlines()[2:4] == ["  no JSON", "    at all"]


def test_an_edit_that_waits_for_an_answer_is_shown_as_its_diff_unless_that_leaves_something_out() -> None:
    edit = {"path": "a.py", "old_text": "one\ntwo\n", "new_text": "one\n2\n"}
    assert answer_hint(request("edit", json.dumps(edit))).splitlines()[2:-1] == [
        "  path: a.py",
        "    one",
        "  - two",
        "  + 2",
        "  because of a rule",
    ]
    several = {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}, {"oldText": "z", "newText": "w"}]}
    told = answer_hint(request("edit", json.dumps(several)))
    assert "\n  - x\n  + y\n  - z\n  + w\n" in told
    for more in (
        {**edit, "oldText": "another"},
        {**several, "edits": [*several["edits"], {"oldText": "a", "path": "b.py", "newText": "b"}]},
        {**edit, "new_text": "one\r\n2\n"},
    ):
        assert "\n  - " not in answer_hint(request("edit", json.dumps(more)))


def request(tool: str, arguments: str) -> Request:
    named = {"id": "req_1", "task_id": TaskId("task_1"), "session_id": "s", "path": ("task_1",), "profile": "finder"}
    return Request(**named, tool=tool, arguments=arguments, reason="a rule")
