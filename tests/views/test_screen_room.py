"""A screen with less room than tasks."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from ohm_subagents.contract import (
    AccountCharged,
    Budget,
    Cancelled,
    Event,
    Remaining,
    RunEnded,
    RunStarted,
    StartBudget,
    Succeeded,
    Task,
    TaskId,
    TaskSettled,
    ToolStarted,
    Usage,
    UsageAdded,
    apply,
)
from ohm_subagents.contract.activity import Activity
from ohm_subagents.contract.ids import SessionId
from ohm_subagents.contract.task import Assignment, Route
from ohm_subagents.views import PLAIN, LiveTask, screen_lines

DONE = (RunStarted(prompt="p"), RunEnded(outcome=Succeeded(), output="o"), TaskSettled(outcome=Succeeded()))


def told(name: str, *events: Event) -> LiveTask:
    assignment = Assignment(
        profile="finder",
        name="Finder",
        description=name,
        prompt="p",
        invocation="task-routed",
        backend="b",
        created_ms=0,
    )
    task = Task(
        id=TaskId(name),
        session_id=SessionId("s"),
        assignment=assignment,
        activity=Activity(),
        route=Route(runtime="b", route="b"),
        updated_ms=0,
        summary="Queued",
    )
    for event in events:
        task = apply(task, event, at_ms=1_000)
    return LiveTask(task)


def drawn(height: int, now_ms: int, chosen: str | None = None) -> list[str]:
    tasks = [
        *(told(f"done {n}", *DONE) for n in range(3)),
        *(told(f"queued {n}") for n in range(6)),
        *(told(f"at work {n}", RunStarted(prompt="p")) for n in range(2)),
    ]
    return screen_lines(tasks, now_ms=now_ms, width=80, height=height, theme=PLAIN, chosen=chosen)


def test_those_that_run_stay_and_the_others_are_counted() -> None:
    first, *rows, last = drawn(5, 2_000)
    assert first.startswith("2 running · 6 queued · 3 succeeded · ")
    assert [row.partition(" · ")[0].split(maxsplit=1)[1].rstrip() for row in rows] == [
        "queued 0",
        "at work 0",
        "at work 1",
    ]
    assert last == "  … 8 more: 5 queued, 3 succeeded"


def test_one_that_waits_for_its_turn_stays_before_one_that_was_cancelled() -> None:
    cancelled = told("cancelled", TaskSettled(outcome=Cancelled(reason="r")))
    tasks = [cancelled, told("queued"), told("at work", DONE[0]), told("done", *DONE)]
    _, first, _, last = screen_lines(tasks, now_ms=2_000, width=80, height=4, theme=PLAIN)
    assert "queued" in first
    assert last == "  … 2 more: 1 cancelled, 1 succeeded"


def test_one_that_was_chosen_stays_too() -> None:
    assert any("▸ ✓ done 2" in row for row in drawn(5, 2_000, chosen="done 2"))


def test_those_that_are_stuck_are_counted_apart() -> None:
    assert drawn(5, 60_000)[0].startswith("2 running (2 stuck) · 6 queued · 3 succeeded · ")


def test_titles_and_times_are_below_each_other() -> None:
    rows = [line for line in drawn(14, 12_000)[1:] if "╰──" not in line]
    assert {row.index(" · ") for row in rows} == {len("  … queued 0 ")}
    ends = [len(row.rstrip()) if "at work" in row else row.index(" · ", 14) for row in rows if "queued" not in row]
    assert len({*ends}) == 1


def test_the_newest_tool_call_takes_the_only_line_there_is_for_calls() -> None:
    calls = [ToolStarted(call_id=f"{n}", tool="read", args=f'{{"path": "{n}.py"}}') for n in range(4)]
    tasks = [told(f"at work {n}", RunStarted(prompt="p"), *calls) for n in range(3)]
    shown = screen_lines(tasks, now_ms=1_500, width=80, height=10, theme=PLAIN)
    assert [line.strip() for line in shown[2:4]] == ["├── ⠼ read 3.py", "╰── Working..."]


def shared(number: int, left: str, start: str) -> LiveTask:
    live = told(f"part {number}", RunStarted(prompt="p"), AccountCharged(remaining=Remaining(cost_usd=Decimal(left))))
    assignment = replace(live.task.assignment, shares=StartBudget(id=start, budget=Budget(cost_usd=1)))
    return LiveTask(replace(live.task, assignment=assignment))


def test_the_first_line_tells_what_is_left_of_a_budget_that_all_share() -> None:
    for start, is_told in (("a", True), ("b", False)):
        tasks = [shared(1, "0.40", "a"), shared(2, "0.25", start)]
        (first, *rest) = screen_lines(tasks, now_ms=2_000, width=80, height=9, theme=PLAIN)
        assert (" · $0.2500 left" in first) == is_told
        assert any(" left" in line for line in rest) != is_told


def test_a_budget_that_runs_out_is_told_before_the_others() -> None:
    left = AccountCharged(remaining=Remaining(cost_usd=Decimal("0.90"), requests=2))
    live = told("part", RunStarted(prompt="p"), left)
    shares = StartBudget(id="a", budget=Budget(cost_usd=Decimal(1), requests=9))
    scarce = LiveTask(replace(live.task, assignment=replace(live.task.assignment, shares=shares)))
    (alone, *_) = screen_lines([scarce], now_ms=2_000, width=80, height=9, theme=PLAIN)
    assert alone.endswith(" · part · 1s · 2 requests left · $0.9000 left")
    (sums, *_) = screen_lines([scarce, scarce], now_ms=2_000, width=80, height=9, theme=PLAIN)
    assert sums.endswith(" · 2 requests left · $0.9000 left")


def test_on_a_narrow_screen_the_number_of_all_is_told_where_others_are_left_out_and_costs_stay() -> None:
    used = UsageAdded(usage=Usage(cost_usd=Decimal("0.0123")))
    many = [told(f"Review the retry policy {n}", RunStarted(prompt="p"), used) for n in range(4)]
    many += [told(f"done {n}", *DONE) for n in range(12)]
    (first, *_) = screen_lines(many, now_ms=100_000, width=50, height=9, theme=PLAIN)
    assert first == "4 running (4 stuck) · 12 succeeded · $0.0492"
    (first, *_) = screen_lines(many, now_ms=100_000, width=40, height=9, theme=PLAIN)
    assert first == "4 of 16 running (4 stuck) · $0.0492"
    _, stuck, *_ = screen_lines(many, now_ms=100_000, width=60, height=9, theme=PLAIN)
    assert stuck.endswith(" · stuck for 1m 39s · $0.0123")


def test_the_first_line_tells_what_a_shared_budget_has_lost_to_requests_without_a_price() -> None:
    tasks = [shared(1, "0.40", "a"), shared(2, "0.25", "a")]
    charged = AccountCharged(remaining=Remaining(cost_usd=Decimal("0.25")), unpriced_usd=Decimal("0.0666"))
    tasks[1] = LiveTask(apply(tasks[1].task, charged, at_ms=1_000))
    (first, *_) = screen_lines(tasks, now_ms=2_000, width=80, height=9, theme=PLAIN)
    assert first.endswith(" · $0.0666 counted for unpriced requests · $0.2500 left")


def test_one_that_is_stuck_keeps_its_cost_and_says_on_what_on_a_narrow_screen() -> None:
    called = ToolStarted(call_id="1", tool="bash", args='{"command": "python -X dev scripts/trace_locks.py"}')
    used = UsageAdded(usage=Usage(cost_usd=Decimal("0.0123")))
    stuck = [told(f"Is the lock held across the await? {n}", RunStarted(prompt="p"), used, called) for n in range(3)]
    lines = screen_lines(
        [*stuck, *(told(f"{n}", *DONE) for n in range(9))], now_ms=100_000, width=60, height=17, theme=PLAIN
    )
    assert [line.split(" · ", 1)[1] for line in lines[1:7:2]] == ["stuck for 1m 39s · $0.0123"] * 3
    assert [line.strip() for line in lines[2:7:2]] == ["╰── Waits for bash python -X dev scripts/trace_locks.py"] * 3
    opened = screen_lines([stuck[0]._replace(depth=2)], now_ms=100_000, width=60, height=9, theme=PLAIN)[0]
    assert opened.endswith(" · stuck for 1m 39s · $0.0123")
