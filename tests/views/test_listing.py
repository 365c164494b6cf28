from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from made_tasks import with_fields

from ohm_subagents._views.listing import task_fact_lines, task_list_lines
from ohm_subagents.contract import (
    Account,
    AccountCharged,
    AnswerAwaited,
    Diagnostic,
    DiagnosticRaised,
    ErrorCode,
    FileChanged,
    GuardTripped,
    ListedTask,
    OhmError,
    Remaining,
    Request,
    SessionId,
    TaskId,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)
from ohm_subagents.views import PLAIN, LiveTask, task_block, unpriced_text

READ = (ToolStarted(call_id="1", tool="read"), ToolEnded(call_id="1", tool="read", status="success"))
SPENT = UsageAdded(usage=Usage(requests=2, input_tokens=900, output_tokens=100, cost_usd=Decimal("0.5")))
TIMED_OUT = OhmError(code=ErrorCode.BACKEND_TIMEOUT, message="Timed out after 180s.", advice="Raise the limit.")


def facts(task, **more) -> dict[str, str]:
    lines = task_fact_lines(task, now_ms=120_000, **more)
    return {line[:14].strip(): line[14:] for line in lines if line[:14].strip()}


def test_a_task_is_two_lines(succeeded) -> None:
    first, second = task_list_lines(ListedTask.of(succeeded("out", *READ, SPENT)), now_ms=120_000)
    assert first == "✓ task_1 Finder · Auth scan"
    assert second == "  succeeded · ended 1m ago · 0s · $0.5000 · 1 tool call · 1,000 tokens"


def test_a_failure_says_why_and_its_cost_is_not_cut_on_a_narrow_screen(failed) -> None:
    listed = ListedTask.of(failed(TIMED_OUT, *READ, SPENT))
    why = TIMED_OUT.message
    assert task_list_lines(listed, now_ms=120_000, why=why, width=64)[1] == (
        "  failed · ended 1m ago · 0s · $0.5000 · Timed out after 180s."
    )
    assert f" · {why} · 1 tool call" in task_list_lines(listed, now_ms=0, why=why)[1]
    assert task_list_lines(listed, now_ms=0, why="two\n\x1b[2Jlines")[1].count("two lines") == 1


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_a_task_did_is_read_before_what_it_used_on_a_line_of_its_own_where_that_is_needed(
    succeeded, width: int
) -> None:
    long, short = "It is read in two places, of which one is never reached. " * 3, "It is read."
    listed = ListedTask.of(succeeded("out", *READ, SPENT))
    facts = "  succeeded · ended 1m ago · 0s · $0.5000"
    _, second, third = task_list_lines(listed, now_ms=120_000, why=long, width=width)
    assert (second, third[:-1]) == (facts, f"  {long}"[: len(third) - 1])
    assert width - 12 < len(third) <= width
    assert task_list_lines(listed, now_ms=120_000, why=short, width=width)[1].startswith(f"{facts} · {short}")


def test_why_a_task_failed_has_two_lines_and_no_cost_is_left_out(failed) -> None:
    why = "The provider refused the request, and said no more about that. " * 3
    below = replace(ListedTask.of(failed(TIMED_OUT, SPENT)), account=Account(below=Usage(cost_usd=Decimal("0.25"))))
    lines = task_list_lines(below, now_ms=120_000, why=why, width=60)
    assert lines[1] == "  failed · ended 1m ago · 0s · $0.7500 +below"
    assert [line[-1] == "…" for line in lines[2:]] == [False, True]
    narrow = task_list_lines(below, now_ms=120_000, why=why, width=30)
    assert "  $0.7500 +below" in narrow


def test_what_a_task_asks_has_lines_of_its_own_the_id_of_the_request_last(running) -> None:
    asked = {"session_id": "s", "path": ("task_1",), "profile": "finder", "kind": "question"}
    words = "Should the next release be 2.4.1, which hides the break, or 3.0.0?"
    request = Request(id="req_1", task_id=TaskId("task_1"), question=words, options=("2.4.1", "3.0.0"), **asked)
    task = running(AnswerAwaited(request=request))
    lines = task_list_lines(ListedTask.of(task), now_ms=9_000, why="never", concern="asking", asking=task, width=40)
    assert lines[2:] == (
        "  Asks: Should the next release be",
        "  2.4.1, which hides the break, or",
        "  3.0.0? (2.4.1 / 3.0.0) (req_1)",
    )


def test_what_a_task_used_counts_what_is_below_it_and_says_so(running) -> None:
    below = replace(ListedTask.of(running(*READ, SPENT)), account=Account(below=Usage(cost_usd=Decimal("0.25"))))
    lines = task_list_lines(below, now_ms=9_000, depth=1, width=90)
    assert [len(line) - len(line.lstrip()) for line in lines] == [2, 4]
    assert " · $0.7500 with below · 1 tool call · 1,000 tokens" in lines[1]
    unpriced = replace(ListedTask.of(running(*READ)), account=Account(below=Usage(tool_calls=2)))
    assert task_list_lines(unpriced, now_ms=9_000)[1].endswith(" · 3 tool calls with below")


def test_a_cost_that_no_provider_has_told_is_called_unpriced_with_what_is_counted(running) -> None:
    asked, left = UsageAdded(usage=Usage(requests=1)), Remaining(cost_usd=Decimal("4.9599"))
    charged = (AccountCharged(unpriced_usd=Decimal("0.0401")), AccountCharged(remaining=left))
    task, said = running(asked, *charged), "unpriced, counted as $0.0401"
    assert facts(task)["usage"] == f"1 request · {said}"
    assert f" · {said} · $4.9599 left" in task_block(LiveTask(task), now_ms=9_000, width=120, theme=PLAIN)[0]
    listed = task_list_lines(ListedTask.of(task), now_ms=9_000, with_cost=True, unpriced=unpriced_text(task))
    assert f" · 1 request · {said} · left: $4.9599" in listed[1]
    counted = UsageAdded(usage=Usage(requests=1, output_tokens=9))
    assert [unpriced_text(running(one, charged[1])) for one in (asked, counted)] == ["", "unpriced"]
    assert [unpriced_text(one) for one in (running(asked), running(asked, SPENT, charged[1]), running(*charged))] == [
        ""
    ] * 3


def test_what_requests_without_a_price_count_for_stands_beside_what_the_others_cost(running) -> None:
    asked, left = UsageAdded(usage=Usage(requests=2)), Remaining(cost_usd=Decimal("4.4334"))
    charged = (AccountCharged(unpriced_usd=Decimal("0.0333")),) * 2
    task, said = running(asked, SPENT, *charged, AccountCharged(remaining=left)), "unpriced requests counted as $0.0666"
    assert facts(task)["usage"].endswith(f" · {said}")
    assert f" · $0.5000 · $4.4334 left · {said}" in task_block(LiveTask(task), now_ms=9_000, width=160, theme=PLAIN)[0]
    parent = running(AccountCharged(usage=task.activity.usage), *charged, AccountCharged(remaining=left))
    assert facts(parent)["with below"].endswith(f" · {said}")


def test_costs_take_as_many_lines_as_they_need_and_no_number_is_cut(succeeded) -> None:
    listed = ListedTask.of(succeeded("out", *READ, SPENT))
    whole = [line.strip() for line in task_list_lines(listed, now_ms=120_000, with_cost=True)]
    for width in (40, 60, 80, 130):
        lines = task_list_lines(listed, now_ms=120_000, with_cost=True, width=width)
        assert max(map(len, lines)) <= width
        assert " · ".join(line.strip() for line in lines[1:]).replace(" · ", " ") == whole[1].replace(" · ", " ")


@pytest.mark.parametrize(("made", "marker"), [("running", "⠋"), ("succeeded", "✓"), ("cancelled", "○")])
def test_the_marker_tells_the_status(request, made: str, marker: str) -> None:
    task = request.getfixturevalue(made)()
    assert task_list_lines(ListedTask.of(task), now_ms=1)[0].startswith(f"{marker} task_1 ")


def test_what_is_below_has_one_name_and_no_label_is_parted_from_its_numbers(succeeded) -> None:
    below = Account(below=Usage(requests=3, input_tokens=2_000, cost_usd=Decimal("0.25")))
    task = replace(ListedTask.of(succeeded("out", *READ, SPENT)), account=below)
    whole = "$0.7500 · 5 requests · 2,900 tokens in (0 cached), 100 out · 1 tool call"
    assert task_list_lines(task, now_ms=60_000, with_cost=True)[1].endswith(f" · 1 tool call · with below: {whole}")
    *_, last = task_list_lines(task, now_ms=60_000, with_cost=True, width=90)
    assert last == f"  with below: {whole}"


def test_who_runs_a_task_is_told_while_somebody_does(running, succeeded) -> None:
    assert task_list_lines(ListedTask.of(running()), now_ms=30_001, where="pid 7")[1] == "  running, pid 7 · 30s"
    late = replace(ListedTask.of(running()), started_ms=20_001)  # it has waited for its turn
    assert task_list_lines(late, now_ms=30_001)[1] == "  running · 10s"
    assert "pid 7" not in task_list_lines(ListedTask.of(succeeded()), now_ms=1, where="pid 7")[1]


def test_of_a_settled_task_the_time_since_its_end_is_told_and_of_one_that_works_that_of_its_work(
    running, succeeded
) -> None:
    ended = replace(ListedTask.of(succeeded()), created_ms=0, started_ms=0, ended_ms=91_000)
    assert task_list_lines(ended, now_ms=180_000)[1].startswith("  succeeded · ended 1m ago · 1m 31s")
    assert task_list_lines(ListedTask.of(running()), now_ms=180_000)[1].startswith("  running · 2m 59s")


def test_a_queued_task_has_taken_no_time_yet(running) -> None:
    task = replace(running(), status="queued", started_ms=None)
    head, state = task_list_lines(ListedTask.of(task), now_ms=5_000, where="elsewhere")
    assert head.startswith("… ")  # nothing moves yet
    assert state == "  queued, elsewhere · created 5s ago"


def test_a_description_cannot_break_the_line_nor_drive_the_terminal(succeeded) -> None:
    task = with_fields(succeeded(), description="two\nlines\x1b]0;owned\x07\tand\x1b[2J more")
    first, _ = task_list_lines(ListedTask.of(task), now_ms=0)
    assert first == "✓ task_1 Finder · two lines and more"


def test_what_is_known_of_a_task_is_a_line_each(failed) -> None:
    raised = DiagnosticRaised(diagnostic=Diagnostic(subject="m", message="Thinking is not honoured."))
    tripped = GuardTripped(guard="idle", step="stop", message="m")
    files = (FileChanged(path="a.py"), FileChanged(path="b.py"))
    task = failed(TIMED_OUT, *READ, SPENT, raised, *files, tripped, said="half")
    task = with_fields(
        task,
        resumed_from=TaskId("task_0"),
        parent=TaskId("task_p"),
        session_id=SessionId("session_9"),
        ended_ms=task.activity.progress_ms + 3_000,
    )
    told = facts(task)
    assert told == {
        "task": "task_1",
        "status": "failed",
        "session": "session_9",
        "resumed from": "task_0",
        "started by": "task_p",
        "backend": "test-backend",
        "route": "runtime test-backend, route test-backend",
        "created": "1970-01-01 00:00:00 UTC, 2m ago",
        "worked": "3.0s in 1 run",
        "usage": "$0.5000 · 2 requests · 900 tokens in (0 cached), 100 out · 1 tool call",
        "stopped by": "idle; the last progress was 3.0s before the end",
        "files": "a.py",
        "no answer": "only what it said so far, 4 characters",
        "error": "Timed out after 180s. Raise the limit. (task_backend_timeout)",
        "diagnostic": "Thinking is not honoured.",
    }
    assert " " * 14 + "b.py" in task_fact_lines(task, now_ms=0)


def test_what_does_not_apply_is_left_out(succeeded, running) -> None:
    assert list(facts(succeeded("x" * 1_234))) == [
        *("task", "status", "session", "backend", "route", "created", "worked", "answer")
    ]
    assert facts(succeeded("x" * 1_234))["answer"] == "1,234 characters"
    assert facts(running(), where="pid 7")["status"] == "running, pid 7"


def test_a_run_that_never_made_progress_says_so(running) -> None:
    task = running(GuardTripped(guard="soft", step="stop", message="m"))
    assert facts(task)["stopped by"] == "soft, without any progress"


def test_facts_carry_no_escape_sequences(running) -> None:
    task = running(TextDelta(text="t"), FileChanged(path="a\x1b[2J.py"))
    assert facts(task)["files"] == "a.py"


def test_a_long_fact_goes_on_below_its_beginning(succeeded) -> None:
    lines = task_fact_lines(succeeded("done"), now_ms=0, width=40)
    [at] = [number for number, line in enumerate(lines) if line.startswith("route")]
    assert lines[at : at + 2] == ["route         runtime test-backend,", " " * 14 + "route test-backend"]
    assert max(map(len, lines)) <= 40


def test_the_error_is_told_below_the_status(failed) -> None:
    assert list(facts(failed(TIMED_OUT)))[:3] == ["task", "status", "error"]
