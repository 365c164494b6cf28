from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from functools import reduce

import pytest
from made_tasks import queued_task

from ohm_subagents._terminal.live import TaskWatch, drawn, finished_lines, running_lines
from ohm_subagents._views.cells import cells, printable
from ohm_subagents.contract import (
    RouteResolved,
    RunEnded,
    RunStarted,
    Succeeded,
    Task,
    TaskSettled,
    TextDelta,
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


def test_the_end_of_a_streamed_answer_stays_visible() -> None:
    said = "\n".join(f"line {n}" for n in range(50))
    lines = running_lines(played(TextDelta(text=said)), elapsed_ms=240, width=80, height=24)
    assert lines[0] == "  ⠹ Finder · Scan"
    assert lines[-1].strip() == "line 49"
    assert "    ╰── line 42" in lines


@pytest.mark.parametrize("height", [14, 24, 60])
@pytest.mark.parametrize("width", [20, 80, 200])
def test_a_frame_fits_the_terminal(width: int, height: int) -> None:
    task = played(*CALL * 50, TextDelta(text="日本語 " * 500))
    lines = running_lines(task, elapsed_ms=0, width=width, height=height)
    assert len(lines) <= height
    assert all(cells(line) <= width for line in lines)


def test_a_long_path_is_cut_and_not_left_out() -> None:
    lines = running_lines(played(*CALL), elapsed_ms=0, width=60, height=24)
    assert lines[2] == '    ├── ○ read {"path":"deep/deep/deep/deep/deep/deep/deep/…'


def test_what_streams_in_cannot_drive_the_terminal() -> None:
    lines = running_lines(played(TextDelta(text="\x1b[2Ja\x07\x9b2Jb")), elapsed_ms=0, width=60, height=24)
    assert lines[-1] == "    ╰── a2Jb"


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
        finished_lines(task, width=80)[-1] == "    ╰── Succeeded after 0.0s · openai/gpt-5 · 1 tool call · 1,234 tokens"
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


def test_a_watch_has_a_frame_before_the_first_event() -> None:
    assert TaskWatch().frame(80, 24) == "  ⠋ Starting…"


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
