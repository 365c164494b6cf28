"""The words of a task that waits for those it has started."""

from __future__ import annotations

from functools import partial, reduce

import pytest
from made_tasks import queued_task

from ohm_subagents._views.screen import opened_lines
from ohm_subagents.contract import (
    AnswerAwaited,
    Event,
    Request,
    RunStarted,
    Succeeded,
    Task,
    TaskId,
    TaskSettled,
    TextDelta,
    ToolStarted,
    apply,
)
from ohm_subagents.views import PLAIN, LiveTask, awaited_tasks, doing_text, screen_lines

STARTED = ToolStarted(call_id="1", tool="finder", args='{"prompt": "Look"}')
NOW_MS = 60_000
LEAD = TaskId("task_lead")


def at_work(task_id: str, *events: Event, parent: TaskId | None = None, at_ms: int = 1_000) -> Task:
    task = queued_task(task_id, parent=parent, created_ms=at_ms, description=task_id)
    return reduce(lambda state, event: apply(state, event, at_ms=at_ms), (RunStarted(prompt="p"), *events), task)


def children() -> list[Task]:
    named = {"task_id": TaskId("task_asks"), "session_id": "s", "path": ("task_asks",), "profile": "finder"}
    return [
        at_work("task_asks", AnswerAwaited(request=Request(id="req_1", **named)), parent=LEAD),
        at_work("task_stuck", parent=LEAD),
        at_work("task_works", parent=LEAD, at_ms=NOW_MS - 1),
        at_work("task_done", TaskSettled(outcome=Succeeded()), parent=LEAD),
    ]


def last_line(*events: Event, at_ms: int = 1_000) -> str:
    lead = at_work("task_lead", *events, at_ms=at_ms)
    tasks = [LiveTask(lead), *(LiveTask(one, depth=1) for one in children())]
    lines = screen_lines(tasks, now_ms=NOW_MS, width=80, height=40, theme=PLAIN)
    return next(line for line in lines if "╰── " in line).partition("╰── ")[2]


@pytest.mark.parametrize("events", [(), (STARTED,), (TextDelta(text="I start four."), STARTED)], ids=len)
def test_a_task_that_waits_says_for_how_many_and_what_is_amiss_with_them(events) -> None:
    said = last_line(*events)
    assert said.removeprefix("I start four.") in {"Waits for 3 of 4 below: 1 asking, 1 stuck", ""}
    assert "Working..." not in said


def test_a_task_that_does_something_else_meanwhile_says_that() -> None:
    assert "Waits for" not in last_line(ToolStarted(call_id="1", tool="read"), at_ms=2_000)


def test_an_opened_task_waits_as_in_the_list_and_those_below_it_are_shown_too() -> None:
    tasks = [LiveTask(at_work("task_lead", STARTED)), *(LiveTask(one, depth=1) for one in children())]
    draw = partial(opened_lines, tasks, now_ms=NOW_MS, width=60, theme=PLAIN)
    title, _, _, waits, *rows = draw(height=24)
    assert title.startswith("  ⠙ Finder · task_lead · 59s")
    assert waits == "    ╰── Waits for 3 of 4 below: 1 asking, 1 stuck"
    assert [row.split()[:2] for row in rows if "task_" in row] == [
        ["?", "task_asks"],
        ["!", "task_stuck"],
        ["⠋", "task_works"],
        ["✓", "task_done"],
    ]
    *tree, last = draw(height=5)
    assert [line.split()[0] for line in tree] == ["⠙", "╰──", "?", "!"]
    assert last == "  … 2 more: 1 running, 1 succeeded"
    middle = draw(height=11)
    assert [line.split()[0] for line in middle if "task_" in line] == ["⠙", "?", "!", "⠋", "✓"]
    assert any("Asks: " in line for line in middle)


def test_a_list_says_the_same_on_one_line() -> None:
    awaited = awaited_tasks(children(), {TaskId("task_asks"): "asking"})[LEAD]
    said = doing_text(at_work("task_lead", STARTED), now_ms=NOW_MS, is_patient=True, awaited=awaited)
    assert said == "Waits for 3 of 4 below: 1 asking"
    alone = awaited_tasks(children()[:1], {})[LEAD]
    assert doing_text(at_work("task_lead"), now_ms=NOW_MS, awaited=alone) == "Waits for 1 below"
