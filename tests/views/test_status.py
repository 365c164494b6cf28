from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ohm_subagents._views.status import elapsed_text, status_line, task_line, task_lines
from ohm_subagents._views.widget import widget_lines
from ohm_subagents.contract import OpenCall, Route, SessionId, Task, TaskId, ToolEnded, ToolStarted, Usage

SECTIONS = json.loads((Path(__file__).parent / "presentation.json").read_text(encoding="utf-8"))


def named(section: str):
    vectors = SECTIONS[section]
    return pytest.mark.parametrize("vector", vectors, ids=[str(one.get("name", one.get("ms"))) for one in vectors])


def task_of(snapshot: dict[str, Any]) -> Task:
    """A record of the reference; what it calls tool calls are runs (Q44), here they are what the name says."""
    open_calls = snapshot["activeToolCalls"]
    return Task(
        id=TaskId(snapshot["id"]),
        session_id=SessionId("session_1"),
        profile=snapshot["subagentType"],
        name="Finder",
        description=snapshot["description"],
        prompt=snapshot["prompt"],
        invocation="task-routed",
        backend="b",
        route=Route(runtime="b", route="b"),
        created_ms=snapshot["startedAtEpochMs"],
        started_ms=None if snapshot["state"] == "queued" else snapshot["startedAtEpochMs"],
        updated_ms=snapshot["updatedAtEpochMs"],
        ended_ms=snapshot.get("endedAtEpochMs"),
        status=snapshot["state"],
        summary=snapshot["summary"],
        open_calls=tuple(OpenCall(call_id=str(n), tool="read") for n in range(open_calls)),
        usage=Usage(tool_calls=snapshot["totalToolCalls"] - open_calls),
    )


@named("presentation")
def test_the_status_line_and_the_widget_are_as_recorded(vector) -> None:
    tasks = [task_of(snapshot) for snapshot in vector["snapshots"]]
    options = {"now_ms": vector["now"], "max_tasks": vector.get("maxItems", 5), "width": vector.get("maxWidth", 100)}
    expect = vector["expect"]
    assert status_line(tasks) == expect["status_line"]
    assert widget_lines(tasks, compact=False, **options) == expect["widget_lines"]
    assert widget_lines(tasks, compact=True, **options) == expect["compact_widget_lines"]


@named("snapshot_lines")
def test_the_short_forms_of_a_task_are_as_recorded(vector) -> None:
    task = task_of(vector["snapshot"])
    options = {"now_ms": vector["now"], "width": vector.get("max_width", 100)}
    assert list(task_lines(task, **options)) == vector["expect"]["two_line"]
    assert task_line(task, **options) == vector["expect"]["compact"]


@named("elapsed")
def test_elapsed_time_is_minutes_and_seconds(vector) -> None:
    assert elapsed_text(vector["ms"]) == vector["expect"]


def test_tool_calls_are_counted_and_not_runs(running) -> None:
    assert status_line([running()]).startswith("subagents 1 running · tools 0 active")
    started = [ToolStarted(call_id=name, tool="read") for name in "abc"]
    task = running(*started, ToolEnded(call_id="a", tool="read", status="success"))
    assert status_line([task]).startswith("subagents 1 running · tools 2 active")
    assert task_line(task, now_ms=1).endswith("· 00:00 · tools 2/3")
