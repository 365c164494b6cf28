"""The tasks of all processes, as `ohm top` draws them."""

from decimal import Decimal

from made_tasks import queued_task

from ohm_subagents.contract import ListedTask, RunStarted, Usage, UsageAdded, apply
from ohm_subagents.views import PLAIN, FleetRow, cells, fleet_lines


def row(number, *, cost, tokens, began_ms):
    task = apply(
        queued_task(f"task_{number}", profile=f"p{number}", description="日本 \x1b[2J"),
        RunStarted(prompt="p"),
        at_ms=began_ms,
    )
    used = Usage(requests=number, input_tokens=tokens, cost_usd=Decimal(cost))
    return FleetRow(ListedTask.of(apply(task, UsageAdded(usage=used), at_ms=began_ms)), "pid 7")


ROWS = [
    row(1, cost="0.2", tokens=10, began_ms=9_000),
    row(2, cost="0.1", tokens=3000, began_ms=5_000),
    row(3, cost="0.3", tokens=20, began_ms=8_000),
]


def drawn(sort, *, width=80, height=10):
    return fleet_lines(ROWS, sort=sort, now_ms=70_000, width=width, height=height, theme=PLAIN)


def test_tasks_are_sorted_by_what_is_asked_for() -> None:
    order = {sort: [line.split()[1] for line in drawn(sort)[2:]] for sort in ("cost", "time", "tokens", "profile")}
    assert order == {
        "cost": ["p3", "p1", "p2"],
        "time": ["p2", "p3", "p1"],
        "tokens": ["p2", "p3", "p1"],
        "profile": ["p1", "p2", "p3"],
    }


def test_sums_heads_clocks_and_costs_are_told() -> None:
    sums, heads, first, *_ = drawn("time")
    assert sums == "3 tasks, 3 running · $0.6000 · sorted by time"
    assert heads.split() == ["profile", "process", "time", "requests", "tokens", "cost", "task"]
    assert first.split()[1:8] == ["p2", "pid", "7", "1m", "05s", "2", "3,000"]


def test_a_screen_is_never_left_and_what_has_no_room_is_counted() -> None:
    for width in (20, 60, 80):
        assert all(cells(line) <= width and "\x1b" not in line for line in drawn("cost", width=width))
    assert len(drawn("cost", height=4)) == 4
    assert drawn("cost", height=4)[-1] == "… and 2 more"
