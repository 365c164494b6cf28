"""The usage of tasks, added up."""

from dataclasses import replace
from decimal import Decimal

from made_tasks import queued_task

from ohm_subagents.contract import ListedTask, RouteResolved, Usage, UsageAdded, apply
from ohm_subagents.views import (
    PLAIN,
    CostRow,
    FleetRow,
    LiveTask,
    cost_csv,
    cost_records,
    cost_rows,
    cost_table,
    fleet_lines,
    screen_lines,
    total_line,
)


def listed(number, profile="finder", *, cost=None, model=None, day=0):
    task = queued_task(
        f"task_{number}", profile=profile, session_id=f"session_{number % 2}", created_ms=day * 86_400_000
    )
    if model is not None:
        task = apply(task, RouteResolved(provider="acme", model=model, route="direct"), at_ms=1)
    used = Usage(requests=1, input_tokens=1000 * number, cost_usd=None if cost is None else Decimal(cost))
    return ListedTask.of(apply(task, UsageAdded(usage=used), at_ms=2))


TASKS = [
    listed(1, cost="0.10", model="big", day=3),
    listed(2, "oracle", cost="0.25", model="small", day=2),
    listed(3, "=2+2", model="big", day=2),
]


def names(by):
    return [(row.name, row.tasks) for row in cost_rows(TASKS, by)]


def test_tasks_are_added_up_by_what_is_asked_for() -> None:
    assert names("profile") == [("oracle", 1), ("finder", 1), ("=2+2", 1)]
    assert names("model") == [("acme/small", 1), ("acme/big", 2)]
    assert names("session") == [("session_0", 1), ("session_1", 2)]
    assert [count for _, count in names("day")] == [2, 1]
    assert [row.usage.cost_usd for row in cost_rows(TASKS, "model")] == [Decimal("0.25"), Decimal("0.10")]


def test_a_table_leaves_out_columns_where_it_has_no_room_and_cuts_no_number() -> None:
    rows = cost_rows([listed(1_000_000, "a-profile-with-a-long-name", cost="0.25")], "profile")
    for width, heads in (
        (80, "profile tasks requests tokens in tokens out cost"),
        (60, "profile tokens in tokens out cost"),
    ):
        head, line, total = cost_table(rows, "profile", width=width)
        assert (" ".join(head.split()), len(head)) == (heads, len(line))
        assert len(line) <= width
        assert line.split()[-3:] == ["1,000,000,000", "0", "$0.2500"]
        assert total.split()[0] == "all"


def test_a_session_that_is_too_long_keeps_its_end_by_which_it_differs() -> None:
    rows = [CostRow(name=f"session_1795951120650_{'0' * 8}{n}", tasks=1, usage=Usage(output_tokens=1)) for n in (1, 2)]
    _, one, two, _ = cost_table(rows, "session", width=50)
    assert (one.split()[0], two.split()[0]) == ("…120650_000000001", "…120650_000000002")
    assert len(one) <= 50


def test_what_no_provider_has_told_the_cost_of_is_unpriced_in_every_table() -> None:
    waits = ListedTask.of(queued_task("task_2", profile="oracle"))
    _, asked, waiting, _ = cost_table(cost_rows([listed(1), waits], "profile"), "profile")
    assert (asked.split()[-1], waiting.split()[-1]) == ("unpriced", "-")
    rows = [FleetRow(listed(1)), FleetRow(waits)]
    table = fleet_lines(rows, sort="cost", now_ms=1, width=200, height=9, theme=PLAIN)
    assert ["unpriced" in line for line in table if "task_" in line] == [True, False]


def test_what_used_no_tokens_is_not_called_unpriced() -> None:
    refused = replace(listed(1), usage=Usage(requests=2, tool_calls=1))
    assert [line.split()[-1] for line in cost_table(cost_rows([refused], "profile"), "profile")[1:]] == ["-", "-"]
    assert (
        "unpriced" not in fleet_lines([FleetRow(refused)], sort="cost", now_ms=1, width=200, height=9, theme=PLAIN)[2]
    )


def test_every_sum_says_how_many_tokens_its_cost_leaves_out() -> None:
    tasks = [listed(1), listed(2, cost="0.25"), listed(3)]
    assert total_line(tasks).startswith("3 tasks in all: $0.2500 (4,000 tokens unpriced) · 3 requests")
    assert cost_table(cost_rows(tasks, "profile"), "profile")[-1] == "without 4,000 tokens unpriced"
    table = fleet_lines([*map(FleetRow, tasks)], sort="cost", now_ms=1, width=200, height=9, theme=PLAIN)
    assert table[0].endswith(" · $0.2500 (4,000 tokens unpriced) with below · sorted by cost")
    live = [LiveTask(queued_task(f"task_{number}")) for number in range(2)]
    spent = [Usage(requests=1, input_tokens=1_000), Usage(requests=1, input_tokens=9, cost_usd=Decimal("0.25"))]
    live = [
        one._replace(task=apply(one.task, UsageAdded(usage=used), at_ms=1))
        for one, used in zip(live, spent, strict=True)
    ]
    first = screen_lines(live, now_ms=1, width=120, height=20, theme=PLAIN)[0]
    assert " · $0.2500 · 1,000 tokens unpriced · " in first


def test_a_report_is_a_table_csv_or_json() -> None:
    rows = cost_rows(TASKS, "profile")
    head, *lines, total, _ = cost_table(rows, "profile")
    assert head.split() == [
        "profile",
        "tasks",
        "requests",
        "tokens",
        "in",
        "cached",
        "tokens",
        "out",
        "tool",
        "calls",
        "cost",
    ]
    assert len({len(line) for line in (head, *lines, total)}) == 1
    assert total.split() == ["all", "3", "3", "6,000", "0", "0", "0", "$0.3500"]
    assert cost_csv(rows, "profile").splitlines()[-1] == "'=2+2,1,1,3000,0,0,0,"
    assert cost_records(rows, "profile")[0] == {
        "profile": "oracle",
        "tasks": 1,
        "requests": 1,
        "input_tokens": 2000,
        "cached_tokens": 0,
        "output_tokens": 0,
        "tool_calls": 0,
        "cost_usd": "0.25",
    }
