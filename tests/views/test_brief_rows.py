"""Rows of several tasks, and the lines below them for what does not fit."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest
from batch_scene import BROKEN, CACHE, LIMITED, NOW_MS, TITLES, batch_tasks, called, over, played, used

from ohm_subagents.contract import (
    AccountCharged,
    Event,
    Failed,
    RequestHeld,
    RouteResolved,
    RunStarted,
    Succeeded,
    TextDelta,
    Usage,
)
from ohm_subagents.views import PLAIN, LiveTask, screen_lines

BEGUN = RunStarted(prompt="p")


def screen(*tasks: LiveTask, width: int = 80, height: int, chosen: str | None = None) -> list[str]:
    return screen_lines(tasks, now_ms=NOW_MS, width=width, height=height, theme=PLAIN, chosen=chosen)


def batch() -> list[LiveTask]:
    return [LiveTask(task, is_answered_here=True) for task in batch_tasks()]


def hung(lines: list[str]) -> dict[str, str]:
    """The line below each task that has one, by its title."""
    return {
        title: below.strip().removeprefix("╰── ")
        for line, below in pairwise(lines)
        for title in TITLES
        if title[:16] in line and "╰── " in below
    }


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_each_task_did_is_told_once_and_uncut_where_there_are_lines(width: int) -> None:
    lines = screen(*batch(), width=width, height=60)
    text = " ".join(" ".join(lines).split())
    for words in (LIMITED.message, BROKEN.message, "src/api/token.py:40 checks a token", "cancelled on the page."):
        assert text.count(words) == 1
    assert "No entry of the cache expires: Cache.put takes a time to live, and nothing reads it." in text


def test_words_that_fit_stay_on_their_line() -> None:
    tasks = [LiveTask(played(n, BEGUN, *over(Succeeded(), "It is in src/auth.py."))) for n in (1, 2)]
    assert all(line.endswith(" · It is in src/auth.py.") for line in screen(*tasks, height=24)[1:])
    assert len(screen(*tasks, height=24)) == 3


def test_free_lines_go_to_what_is_asked_then_to_what_failed_and_then_to_each_of_the_others() -> None:
    screens = [screen(*batch(), height=13 + free) for free in range(1, 12)]
    told = [[*hung(lines)] for lines in screens]
    asking, first, second = TITLES[2], TITLES[4], TITLES[6]
    assert told[:3] == [[asking]] * 3
    assert "(2.4.1 / 3.0.0)" in " ".join(screens[2])
    assert told[3:6] == [[asking, first], [asking, first], [asking, first, second]]
    assert LIMITED.message in " ".join(" ".join(screens[4]).split())
    assert [sorted(titles) for titles in told[6:8]] == [
        sorted([*TITLES[:1], asking, first, second]),
        sorted([*TITLES[:2], asking, first, second]),
    ]
    assert TITLES[10] in told[8]  # not one of two that run
    assert {TITLES[3], TITLES[5]} <= {*told[9]}
    assert TITLES[10] in told[10]  # the one that was cancelled, before those that succeeded


def test_those_whose_requests_are_held_have_lines_also_where_not_all_that_run_have_one() -> None:
    held = RequestHeld(provider="openai", why="rate_limit", wait_s=7, status=503)
    running = [
        LiveTask(played(n, BEGUN, *called(1, "bash", None, command="make"), step_ms=60_000)) for n in range(1, 9)
    ]
    waiting = [LiveTask(played(n, BEGUN, held, step_ms=60_000)) for n in (9, 10)]
    lines = screen(*running, *waiting, width=60, height=15)
    assert [*hung(lines).values()] == ["Waits: openai answered 503; tries again after 7s."] * 2


def test_the_chosen_task_has_the_first_free_line() -> None:
    lines = screen(*batch(), height=14, chosen="task_10")
    assert [*hung(lines)] == [TITLES[9]]


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_no_row_jumps_while_a_task_talks(width: int) -> None:
    tasks = batch()
    for height in range(13, 32):  # from there on it has a tree
        places = set[tuple[int, ...]]()
        for said in ("So.", "It is read in two places. " * 2, "It is read in two places. " * 9):
            task = played(6, BEGUN, used("0.0051"), TextDelta(text=said), step_ms=34_000)
            lines = screen(*tasks[:5], LiveTask(task), *tasks[6:], width=width, height=height)
            places.add(tuple(at for at, line in enumerate(lines) if line[2:3] not in {" ", ""}))
        assert len(places) == 1


def test_a_title_is_not_cut_where_its_words_are_below_it() -> None:
    tasks = [LiveTask(played(n, BEGUN, used("0.01"), *over(Succeeded(), CACHE))) for n in (1, 3)]
    lines = screen(*tasks, width=70, height=24)
    assert [TITLES[0] in lines[1], TITLES[2] in lines[4]] == [True, True]
    assert lines[1].index(" · ") == lines[4].index(" · ")


def test_a_title_that_its_column_would_cut_has_the_line_and_the_words_are_below() -> None:
    tasks = [LiveTask(played(n, BEGUN, used("0.01"), *over(Succeeded(), "It is."))) for n in (2, 3)]
    assert hung(screen(*tasks, width=60, height=24)) == {TITLES[2]: "It is."}
    assert hung(screen(*tasks, width=120, height=24)) == {}


def test_a_narrow_row_says_that_a_cost_counts_what_is_below_it_and_keeps_a_title() -> None:
    below = AccountCharged(usage=Usage(requests=3, cost_usd=Decimal("0.0900")))
    busy: list[Event] = [BEGUN, used("0.0140"), below, *called(1, "bash", None, command="make -j all")]
    for depth in range(3):
        tasks = [LiveTask(played(n, *busy), depth=depth, is_patient=True) for n in (1, 2)]
        stuck = [one._replace(is_patient=False) for one in tasks]
        for row in (screen(*tasks, width=60, height=5)[1], screen(*stuck, width=60, height=5)[1]):
            assert " · $0.1040 +below" in row
            assert "Is the lock hel" in row
    wide = screen(*tasks, width=120, height=5)[1]
    assert " · $0.1040 with below" in wide


def test_the_title_of_a_tree_is_whole_where_fewer_numbers_leave_room_for_it() -> None:
    for title, number, numbers in ((TITLES[3], 4, " · $0.0300"), (TITLES[2], 3, " · $0.0175 · 1 tool")):
        line, *_ = screen(batch()[number - 1], width=60, height=24)
        assert line.endswith(numbers)
        assert (f"Finder · {title} · " in line) == (number == 4)


def test_one_line_says_once_when_a_task_is_stuck() -> None:
    rule = "  ! stuck: no progress for 30s; a long call may only be slow"
    lines = screen(*batch(), height=40)
    assert (lines.count(rule), lines[-1]) == (1, rule)
    calm = [one for one in batch() if one.concern(now_ms=NOW_MS) != "stuck"]
    assert rule not in screen(*calm, height=40)


def test_a_question_is_whole_before_anything_has_a_tree() -> None:
    for height in range(18, 50):
        tasks = [one for one in batch() if one.task.status in {"running", "failed"}]
        assert "(2.4.1 / 3.0.0)" in " ".join(screen(*tasks, height=height))


def test_what_failed_without_an_answer_says_so_in_two_lines_at_most() -> None:
    long = replace(BROKEN, message="It broke and broke " * 20)
    tasks = [LiveTask(played(n, BEGUN, *over(Failed(error=long)))) for n in (1, 2)]
    lines = screen(*tasks, height=40)
    assert len(lines) == 1 + 2 * 3
    assert [line[-1] == "…" for line in lines[1:4]] == [False, False, True]


def test_the_numbers_of_a_task_that_has_not_begun_stand_at_its_title_and_not_in_the_column_of_times() -> None:
    route = RouteResolved(runtime="b", route="b", provider="openai", model="gpt")
    queued, running = played(1, route), played(3, BEGUN, *called(1, "bash", None, command="make"))
    first, second = screen(LiveTask(queued), LiveTask(running, is_patient=True), width=120, height=3)[1:]
    assert TITLES[0] in first
    assert first.removesuffix(" · Waits for its turn.").rstrip().endswith("  · openai/gpt")
    assert " · 1m 10s · " in second


def test_rows_without_any_time_are_drawn() -> None:
    assert len(screen(LiveTask(played(1)), LiveTask(played(2)), height=3)) == 3
