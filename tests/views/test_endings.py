"""The end of a settled task, as a row of a list tells it, and when it is shown alone."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pytest
from made_tasks import queued_task

from ohm_subagents.contract import (
    Cancelled,
    Failed,
    ListedTask,
    OhmError,
    RunEnded,
    RunStarted,
    TaskSettled,
    TextDelta,
    ToolEnded,
    ToolStarted,
    apply,
)
from ohm_subagents.views import PLAIN, FleetRow, LiveTask, brief_lines, fleet_lines, screen_lines

if TYPE_CHECKING:
    from ohm_subagents.contract import Event, Outcome, Task

REFUSED = Failed(
    error=OhmError(
        code="provider_unavailable",
        message="Anthropic answered 503 three times, the last time after it had been asked to wait for half a minute.",
        advice="Run it again later, or choose another model.",
    )
)


def ended(outcome: Outcome, *events: Event) -> Task:
    told = (RunStarted(prompt="p"), *events, RunEnded(outcome=outcome), TaskSettled(outcome=outcome))
    stamped = zip(range(5_000, 60_000, 2_000), told, strict=False)
    task = queued_task(description="Scan", prompt="Scan")
    return reduce(lambda state, one: apply(state, one[1], at_ms=one[0]), stamped, task)


def opened(task: Task, *, height: int = 24) -> list[str]:
    return screen_lines([LiveTask(task)], now_ms=60_000, width=80, height=height, theme=PLAIN)


def test_a_failed_task_ends_with_why_it_failed_and_what_to_do() -> None:
    assert opened(ended(REFUSED))[1:] == [
        "    ╰── Failed after 4.0s · b",
        "        Anthropic answered 503 three times, the last time after it had been",
        "        asked to wait for half a minute.",
        "        Run it again later, or choose another model.",
    ]


def test_where_there_is_little_room_a_failed_task_says_why() -> None:
    assert [line.strip() for line in opened(ended(REFUSED), height=3)[1:]] == [
        "╰── Anthropic answered 503 three times, the last time after it had been…"
    ]


def test_a_task_that_ended_before_it_began_says_so_and_has_no_time() -> None:
    stopped = TaskSettled(outcome=Cancelled(reason="It was cancelled on a terminal."))
    never = apply(queued_task(description="Add a check", prompt="Add a check"), stopped, at_ms=53_000)
    others = [LiveTask(ended(Cancelled(reason="It was cancelled on a terminal.")))]
    for width in (40, 60, 120):
        row, _ = brief_lines([LiveTask(never), *others], now_ms=60_000, width=width, theme=PLAIN, with_kind=False)
        assert row.startswith("  ○ Add a check · never started")
        assert "53s" not in row
    assert opened(never)[1] == "    ╰── Cancelled, never started · b"
    [row] = fleet_lines(
        [FleetRow(ListedTask.of(never))], sort="cost", now_ms=60_000, width=120, height=10, theme=PLAIN
    )[2:]
    assert row.split()[:5] == ["○", "task_1", "finder", "cancelled", "-"]


STOPPED = Cancelled(reason="Its command was stopped: by q, Ctrl-C or a signal.")
SAID = TextDelta(text="I read first.")
CALLED = ToolStarted(call_id="1", tool="bash", args='{"command": "sleep 200"}')
CUT_OFF = ToolEnded(call_id="1", tool="bash", status="interrupted", text="interrupted")


@pytest.mark.parametrize(
    ("events", "rest"),
    [((), ""), ((SAID,), " It said: I read first."), ((SAID, CALLED, CUT_OFF), " In bash sleep 200.")],
    ids=len,
)
def test_a_cancelled_task_tells_first_by_whom_and_then_in_the_midst_of_what(events, rest: str) -> None:
    stopped = ended(STOPPED, *events)
    (row,) = brief_lines([LiveTask(stopped)], now_ms=60_000, width=140, theme=PLAIN)
    assert row.endswith(f" · {STOPPED.reason}{rest}")
    assert opened(stopped)[-2:][1] == f"        {STOPPED.reason}"
