from __future__ import annotations

from ohm_subagents._views.status import status_line, task_line
from ohm_subagents.contract import ToolEnded, ToolStarted


def test_tool_calls_are_counted_and_not_runs(running) -> None:
    assert status_line([running()]).startswith("subagents 1 running · tools 0 active")
    started = [ToolStarted(call_id=name, tool="read") for name in "abc"]
    task = running(*started, ToolEnded(call_id="a", tool="read", status="success"))
    assert status_line([task]).startswith("subagents 1 running · tools 2 active")
    assert task_line(task, now_ms=1).endswith("· 00:00 · tools 2/3")


def test_a_line_that_is_cut_behind_a_word_keeps_the_space(running) -> None:
    line = task_line(running(), now_ms=1)
    words = line.split(" · ")[0]
    assert task_line(running(), now_ms=1, width=len(words) + 2) == f"{words} …"
