"""The line of `ohm task` about a task that its program has left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ohm_subagents.contract import Activity, Assignment, LaunchRecord, Route, Run, SessionId, Task, TaskId
from ohm_subagents.contract.outcome import Succeeded
from ohm_subagents.store import NO_PROCESS
from ohm_subagents.views import task_fact_lines

ASSIGNMENT = Assignment(
    profile="finder",
    name="Finder",
    description="d",
    prompt="p",
    invocation="task-routed",
    backend="ray",
    created_ms=0,
    outlives=True,
)
LEFT = Task(
    id=TaskId("task_1"),
    session_id=SessionId("session_1"),
    assignment=ASSIGNMENT,
    activity=Activity(),
    route=Route(runtime="ray", route="ray"),
    launch=LaunchRecord(profile="finder", instructions="", backend="ray", cwd="/repo"),
    status="running",
    summary="",
    updated_ms=0,
    runs=(Run(prompt="p", started_ms=0),),
)
NEXT = "the next program in /repo, which takes it up"


def waits_for(task: Task, where: str = NO_PROCESS) -> list[str]:
    lines = task_fact_lines(task, now_ms=1, where=where)
    return [line.removeprefix("waits for").strip() for line in lines if line.startswith("waits for")]


def test_a_task_whose_program_has_ended_and_whose_run_goes_on_says_who_takes_it_up() -> None:
    assert waits_for(LEFT) == [f"{NEXT}; until then its run goes on as far as it can alone"]


def test_one_that_has_not_begun_does_nothing_until_then() -> None:
    assert waits_for(replace(LEFT, status="queued", runs=())) == [NEXT]


@pytest.mark.parametrize(
    ("task", "where"),
    [
        (LEFT, "pid 7"),
        (replace(LEFT, assignment=replace(ASSIGNMENT, outlives=False)), NO_PROCESS),
        (replace(LEFT, status="succeeded", runs=(replace(LEFT.runs[0], outcome=Succeeded()),)), NO_PROCESS),
    ],
    ids=["somebody runs it", "it ends with its process", "it has settled"],
)
def test_nobody_is_waited_for_otherwise(task: Task, where: str) -> None:
    assert waits_for(task, where) == []
