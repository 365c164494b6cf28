"""The tasks of all processes, as `ohm top` draws them."""

from dataclasses import replace
from decimal import Decimal
from functools import reduce

import pytest
from made_tasks import queued_task

from ohm_subagents.contract import (
    Account,
    AccountCharged,
    AnswerAwaited,
    Failed,
    ListedTask,
    OhmError,
    Remaining,
    Request,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskId,
    TaskSettled,
    ToolStarted,
    Usage,
    UsageAdded,
    apply,
)
from ohm_subagents.views import PLAIN, FleetRow, FleetSort, cells, fleet_lines, fleet_sums


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


def asked() -> FleetRow:
    task = apply(
        queued_task("task_1", profile="p1", description="Find where output is cut"), RunStarted(prompt="p"), at_ms=9_000
    )
    task = apply(task, UsageAdded(usage=Usage(requests=3, cost_usd=Decimal("0.2"))), at_ms=9_000)
    place = {"task_id": task.id, "session_id": task.session_id, "path": (task.id,), "profile": "p1"}
    task = apply(task, AnswerAwaited(request=Request(id="req_1", **place)), at_ms=9_000)
    return FleetRow(ListedTask.of(task), "pid 18053", task, "887_0001")


ASKED = [asked()]


def drawn(sort, *, width=80, height=10):
    return fleet_lines(ROWS, sort=sort, now_ms=70_000, width=width, height=height, theme=PLAIN)


def test_tasks_are_sorted_by_what_is_asked_for() -> None:
    order = {sort: [line.split()[2] for line in drawn(sort)[2:]] for sort in ("cost", "time", "tokens", "profile")}
    assert order == {
        "cost": ["p3", "p1", "p2"],
        "time": ["p2", "p3", "p1"],
        "tokens": ["p2", "p3", "p1"],
        "profile": ["p1", "p2", "p3"],
    }


def test_sums_heads_clocks_and_costs_are_told() -> None:
    sums, heads, first, *_ = drawn("time", width=120)
    assert sums == "3 tasks: 3 running · $0.6000 with below · sorted by time"
    assert heads.split() == ["id", "profile", "state", "process", "time", "requests", "tokens", "cost", "task"]
    assert first.split()[1:10] == ["task_2", "p2", "running", "pid", "7", "1m", "05s", "2", "3,000"]


def test_what_names_a_task_its_state_time_cost_and_title_have_room_on_a_narrow_screen() -> None:
    at_80, at_60 = (
        [line.rstrip() for line in fleet_lines(ASKED, sort="time", now_ms=70_000, width=width, height=9, theme=PLAIN)]
        for width in (80, 60)
    )
    assert at_80[1:] == [
        "   id        profile  state     time  tokens     cost  task",
        "?  887_0001  p1       asking  1m 01s       0  $0.2000  Find where output is cut",
    ]
    assert at_60[1:] == [
        "   id        state     time     cost  task",
        "?  887_0001  asking  1m 01s  $0.2000  Find where output is…",
    ]


def test_the_title_comes_last_and_the_state_is_told_in_words() -> None:
    quiet, asking = (
        apply(queued_task(task_id, description="Look"), RunStarted(prompt="p"), at_ms=5_000)
        for task_id in ("task_1", "task_2")
    )
    request = Request(id="req_1", task_id=asking.id, session_id=asking.session_id, path=(asking.id,), profile="finder")
    asking = apply(asking, AnswerAwaited(request=request), at_ms=5_000)
    rows = [FleetRow(ListedTask.of(task), "pid 7", task) for task in (quiet, asking)]
    second, first = fleet_lines(rows, sort="time", now_ms=70_000, width=200, height=9, theme=PLAIN)[2:]
    assert fleet_lines(rows, sort="time", now_ms=70_000, width=200, height=9, theme=PLAIN)[0] == (
        "2 tasks: 2 running (1 asking, 1 stuck) · sorted by time"
    )
    assert "stuck for 1m 05s" in first
    assert first.endswith("  Look")
    assert "task_2  finder   asking " in second


def at_work(task_id, *events, parent=None, below=None) -> FleetRow:
    task = queued_task(task_id, description="Look", parent=parent)
    task = reduce(lambda state, event: apply(state, event, at_ms=5_000), (RunStarted(prompt="p"), *events), task)
    listed = ListedTask.of(task)
    return FleetRow(listed if below is None else replace(listed, account=Account(below=below)), "pid 7", task)


def test_the_sum_counts_a_tree_once_with_those_that_have_ended() -> None:
    used = UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.2")))
    rows = [
        at_work("task_1", below=Usage(requests=2, cost_usd=Decimal("0.3"))),
        at_work("task_2", used, parent=TaskId("task_1")),
        at_work("task_3", used),
    ]
    assert fleet_lines(rows, sort="time", now_ms=6_000, width=90, height=9, theme=PLAIN)[0] == (
        "3 tasks: 3 running · $0.5000 with below · sorted by time"
    )


def test_tasks_stand_below_those_that_have_started_them_and_costs_say_what_they_count() -> None:
    used = UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.2")))
    rows = [
        at_work("task_3", parent=TaskId("task_2")),
        at_work("task_1", used, used),
        at_work("task_2", used, below=Usage(requests=1, cost_usd=Decimal("0.1"))),
    ]
    shown = fleet_lines(rows, sort="cost", now_ms=6_000, width=120, height=9, theme=PLAIN)[2:]
    assert [line.split()[1] for line in shown] == ["task_1", "task_2", "task_3"]
    assert ["with below $0.3000" in line for line in shown] == [False, True, False]
    narrow = fleet_lines(rows, sort="cost", now_ms=6_000, width=60, height=9, theme=PLAIN)
    assert ("with below" in narrow[0], " $0.3000+ " in narrow[3], "with" in narrow[3]) == (True, True, False)
    assert [line.endswith("    Look") for line in shown] == [False, False, True]


def test_one_cost_that_counts_what_is_below_takes_no_room_from_long_titles() -> None:
    used, title = (
        UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.2"))),
        "Should the next release be a major one?",
    )
    rows = [at_work("task_1", used), at_work("task_2", used, below=Usage(requests=1, cost_usd=Decimal("0.1")))]
    rows = [row._replace(listed=replace(row.listed, description=title)) for row in rows]
    wide = fleet_lines(rows, sort="cost", now_ms=6_000, width=120, height=9, theme=PLAIN)[2:]
    assert [line.endswith(title) for line in wide] == [True, True]
    assert [line.partition("$")[2].partition(title)[0] for line in wide] == ["0.3000+  ", "0.2000   "]
    assert "with below $0.3000" in fleet_lines(rows, sort="cost", now_ms=6_000, width=200, height=9, theme=PLAIN)[2]


def test_what_is_left_is_told_once_a_tree() -> None:
    charged = [AccountCharged(remaining=Remaining(cost_usd=Decimal(left))) for left in ("0.4", "0.45")]
    rows = [at_work("task_1", charged[0]), at_work("task_2", charged[1], parent=TaskId("task_1"))]
    _, heads, *shown = fleet_lines(rows, sort="cost", now_ms=6_000, width=120, height=9, theme=PLAIN)
    assert " left " in heads
    assert ["$0.4000" in line or "$0.4500" in line for line in shown] == [True, False]


def test_what_a_task_does_or_asks_is_below_it_where_lines_are_left() -> None:
    place = {"task_id": TaskId("task_2"), "session_id": "s", "path": ("task_2",), "profile": "p", "kind": "question"}
    question = "Should the next release be 2.4.1, which hides the break, or 3.0.0?"
    rows = [
        at_work("task_1", ToolStarted(call_id="1", tool="bash", args='{"command": "sleep 9"}')),
        at_work("task_2", AnswerAwaited(request=Request(id="req_1", question=question, options=("a", "b"), **place))),
        at_work("task_3", ToolStarted(call_id="1", tool="read", args='{"path": "a.py"}'), parent=TaskId("task_1")),
    ]

    def below(height: int) -> list[str]:
        lines = fleet_lines(rows, sort="time", now_ms=65_000, width=60, height=height, theme=PLAIN, with_work=True)
        assert len(lines) <= height
        return [line.strip() for line in lines[2:] if "Look" not in line]

    assert below(5) == []
    assert below(6) == ["╰ Asks: Should the next release be 2.4.1, which hides th…"]
    assert below(8)[:1] == ["╰ Asks: Should the next release be 2.4.1, which hides th…"]
    assert below(8)[2:] == ["╰ Waits for read a.py"]
    assert below(20)[:2] == [
        "╰ Asks: Should the next release be 2.4.1, which hides the",
        "break, or 3.0.0? (a / b) (req_1)",
    ]
    assert below(20)[3:] == ["╰ Waits for read a.py"]
    assert "bash sleep 9" in below(20)[2]


def ended(task_id, *, parent=None, said="It is done.", outcome=None) -> FleetRow:
    outcome = outcome or Succeeded()
    work = at_work(task_id, RunEnded(outcome=outcome), TaskSettled(outcome=outcome), parent=parent)
    return FleetRow(work.listed, said=said)


BROKEN = Failed(error=OhmError(code="x", message="It broke."))


def test_what_has_settled_stands_below_what_goes_on_beside_it_and_is_counted() -> None:
    rows = [
        ended("task_1", said="All pass.", parent=TaskId("task_3")),
        at_work("task_2", parent=TaskId("task_3")),
        ended("task_3", outcome=BROKEN, said="It broke."),
        ended("task_0"),
        at_work("task_4"),
    ]

    def drawn_in(height: int) -> list[str]:
        return fleet_lines(rows, sort="profile", now_ms=6_000, width=80, height=height, theme=PLAIN, with_work=True)

    assert drawn_in(9)[0] == "5 tasks: 2 running, 1 failed, 2 succeeded · sorted by profile"
    shown = [line.split()[1:2] for line in drawn_in(30)[2:] if "Look" in line]
    assert shown == [["task_3"], ["task_2"], ["task_1"], ["task_4"], ["task_0"]]
    below = [line.strip() for line in drawn_in(30)[2:] if "Look" not in line]
    assert below == ["╰ It broke.", "╰ Working...", "╰ All pass.", "╰ Working...", "╰ It is done."]
    assert [line.strip() for line in drawn_in(8)[2:] if "Look" not in line] == ["╰ It broke."]


def test_what_is_told_of_a_queued_task_comes_after_all_else() -> None:
    rows = [FleetRow(ListedTask.of(queued_task("task_1", description="Look")), said="Put off."), ended("task_2")]
    lines = fleet_lines(rows, sort="time", now_ms=6_000, width=80, height=5, theme=PLAIN, with_work=True)
    assert [line.strip() for line in lines if "╰" in line] == ["╰ It is done."]


def waiting(task_id) -> FleetRow:
    return FleetRow(ListedTask.of(queued_task(task_id, description="Look")))


def asks(task_id, *, parent=None) -> FleetRow:
    request = Request(
        id="req_1", task_id=TaskId(task_id), session_id="s", path=(task_id,), profile="p", kind="question", question="?"
    )
    return at_work(task_id, AnswerAwaited(request=request), parent=parent)


CROWD = [
    *(waiting(f"task_queued{number}") for number in range(8)),
    ended("task_done"),
    at_work("task_works"),
    ended("task_broke", outcome=BROKEN, said="It broke."),
    asks("task_asks"),
]


@pytest.mark.parametrize("sort", ["cost", "time", "tokens", "profile"])
def test_what_needs_somebody_stands_first_and_what_waits_for_its_turn_behind_what_works(sort: FleetSort) -> None:
    lines = fleet_lines(CROWD, sort=sort, now_ms=6_000, width=80, height=30, theme=PLAIN)[2:]
    assert [line.split()[3] for line in lines] == ["asking", "running", "failed", *["queued"] * 8, "succeeded"]
    late = fleet_lines([at_work("task_1"), asks("task_2")], sort=sort, now_ms=70_000, width=80, height=9, theme=PLAIN)
    assert [line.split()[3] for line in late[2:]] == ["asking", "stuck"]


def test_the_sums_tell_how_many_of_those_that_run_have_no_process() -> None:
    rows = [asks("task_1")._replace(where="no process"), at_work("task_2")]
    sums = fleet_lines(rows, sort="time", now_ms=6_000, width=80, height=9, theme=PLAIN)[0]
    assert sums.startswith("2 tasks: 2 running (1 asking, 1 with no process)")


def test_a_task_stands_where_what_is_below_it_needs_somebody() -> None:
    rows = [at_work("task_1"), at_work("task_2"), at_work("task_3", parent=TaskId("task_2"))]
    rows.append(asks("task_4", parent=TaskId("task_3")))
    lines = fleet_lines(rows, sort="profile", now_ms=6_000, width=80, height=30, theme=PLAIN)[2:]
    assert [line.split()[1] for line in lines] == ["task_2", "task_3", "task_4", "task_1"]


def test_what_has_no_room_is_counted_in_words_and_what_asks_or_failed_keeps_its_words() -> None:
    lines = [
        line.strip()
        for line in fleet_lines(CROWD, sort="time", now_ms=6_000, width=80, height=9, theme=PLAIN, with_work=True)
    ]
    assert [line.split()[1] for line in lines[2:] if "Look" in line] == [
        "task_asks",
        "task_works",
        "task_broke",
        "task_queued0",
    ]
    assert [line for line in lines[2:] if "Look" not in line] == [
        "╰ Asks: ? (req_1)",
        "╰ It broke.",
        "… and 8 more: 7 queued, 1 succeeded",
    ]


def test_a_chosen_row_that_would_be_left_out_is_shown_with_those_around_it() -> None:
    lines = fleet_lines(
        CROWD, sort="time", now_ms=6_000, width=80, height=9, theme=PLAIN, with_work=True, chosen="task_queued4"
    )
    assert [line.split()[2] for line in lines if line.startswith("▸")] == ["task_queued4"]
    assert [line.strip() for line in lines if "more" in line] == [
        "… 6 more above",
        "… and 3 more: 2 queued, 1 succeeded",
    ]


def test_the_sums_lose_what_nobody_has_to_look_at_and_no_number_is_cut() -> None:
    used = UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.25")))
    rows = [at_work("task_1", used), ended("task_2"), ended("task_3", outcome=BROKEN)]
    sums = [
        fleet_lines(rows, sort="time", now_ms=6_000, width=width, height=9, theme=PLAIN)[0]
        for width in (90, 60, 50, 40)
    ]
    assert sums == [
        "3 tasks: 1 running, 1 failed, 1 succeeded · $0.2500 with below · sorted by time",
        "3 tasks: 1 running, 1 failed, 1 succeeded · $0.2500",
        "3 tasks: 1 running, 1 failed · $0.2500",
        "3 tasks: 1 running, 1 failed · $0.2500",
    ]
    unsorted = fleet_sums(rows, now_ms=6_000, width=90)
    assert unsorted == "3 tasks: 1 running, 1 failed, 1 succeeded · $0.2500 with below"


def test_the_chosen_task_is_marked_and_always_in_sight() -> None:
    rows = [at_work(f"task_{number:02}") for number in range(20)]
    for at, row in enumerate(rows):
        lines = fleet_lines(
            rows, sort="profile", now_ms=6_000, width=80, height=9, theme=PLAIN, chosen=row.listed.id, with_work=True
        )
        assert len(lines) <= 9
        assert [line.split()[2] for line in lines if line.startswith("▸")] == [f"task_{at:02}"]
        counts = [int(line.split()[1 if "above" in line else 2]) for line in lines if "…" in line]
        assert sum(counts) + sum("Look" in line for line in lines) == 20
    free = fleet_lines(rows, sort="profile", now_ms=6_000, width=80, height=9, theme=PLAIN, chosen="")
    assert all(line.startswith("  ") for line in free[1:])


def test_where_keys_answer_and_titles_have_no_room_no_id_of_a_request_is_told_nor_how_long_a_task_is_stuck() -> None:
    request = Request(id="req_1", task_id=TaskId("task_2"), session_id="s", path=("task_2",), profile="p", tool="bash")
    rows = [at_work("task_1"), at_work("task_2", AnswerAwaited(request=request))]

    def drawn_at(width: int, chosen: str | None) -> list[str]:
        return fleet_lines(
            rows, sort="profile", now_ms=70_000, width=width, height=20, theme=PLAIN, with_work=True, chosen=chosen
        )

    assert [line.strip() for line in drawn_at(80, None) if "Asks" in line] == ["╰ Asks: bash (req_1)"]
    assert [line.strip() for line in drawn_at(80, "") if "Asks" in line] == ["╰ Asks: bash"]
    assert [line.split()[3:6] for line in drawn_at(80, "") if "task_1" in line] == [["stuck", "for", "1m"]]
    assert [line.split()[2:4] for line in drawn_at(54, "") if "task_1" in line] == [["stuck", "1m"]]


def test_a_screen_is_never_left_and_what_has_no_room_is_counted() -> None:
    for width in (20, 60, 80):
        assert all(cells(line) <= width and "\x1b" not in line for line in drawn("cost", width=width))
    assert len(drawn("cost", height=4)) == 4
    assert drawn("cost", height=4)[-1] == "… and 2 more: 2 running"


def test_where_nothing_runs_a_sentence_says_so() -> None:
    sums, said = fleet_lines([], sort="cost", now_ms=10_000, width=80, height=9, theme=PLAIN)
    assert (sums, said) == (
        "0 tasks · sorted by cost",
        "Nothing waits or runs. What has ended is in: ohm tasks",
    )
