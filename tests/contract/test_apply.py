"""`apply`, the only function that changes a task."""

from dataclasses import replace

import pytest
from made_tasks import queued_task

from ohm_subagents.contract import (
    Account,
    AccountCharged,
    Cancelled,
    Checkpointed,
    Diagnostic,
    DiagnosticRaised,
    ErrorCode,
    Failed,
    OhmError,
    Remaining,
    RequestHeld,
    RequestReleased,
    Route,
    RouteResolved,
    RunEnded,
    RunStarted,
    RunWait,
    Succeeded,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
    WorkspaceKept,
    apply,
)

ERROR = OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke.")


def queued(**changes):
    fields = {"backend": "none", "created_ms": 1, "summary": "Queued Finder: scan"}
    return queued_task(**(fields | changes))


def after(*events, task=None):
    task = task or queued()
    for at_ms, event in enumerate(events, start=10):
        task = apply(task, event, at_ms=at_ms)
    return task


def test_a_run_takes_a_task_from_queued_to_running():
    task = after(RunStarted(prompt="look"))

    assert (task.status, task.started_ms, task.summary) == ("running", 10, "Starting Finder: scan")
    assert [run.prompt for run in task.runs] == ["look"]


def test_a_model_request_waits_until_it_goes_out_or_its_run_is_over():
    held = RequestHeld(provider="acme", why="slots")
    waits = after(RunStarted(prompt="look"), held)
    released = after(RunStarted(prompt="look"), held, RequestReleased())
    ended = after(RunStarted(prompt="look"), held, RunEnded(outcome=Cancelled(reason="Enough.")))

    assert waits.activity.wait == RunWait(held=held)
    assert released.activity.wait == RunWait(over_ms=12)
    assert ended.activity.wait == RunWait()


def test_a_long_text_that_comes_in_short_pieces_is_kept_in_few():
    task = after(RunStarted(prompt="look"), *[TextDelta(text="word ")] * 1000)

    assert (task.text, len(task.activity.said) <= 10) == ("word " * 1000, True)


@pytest.mark.parametrize(
    ("outcome", "status", "summary"),
    [
        (Succeeded(), "succeeded", "Found it."),
        (Failed(error=ERROR), "failed", "It broke."),
        (Cancelled(reason="stop"), "cancelled", "Cancelled Finder: scan"),
    ],
)
def test_settling_decides_the_status_and_the_summary(outcome, status, summary):
    ended = RunEnded(outcome=outcome, output="text", summary="Found it.")

    task = after(RunStarted(prompt="look"), ended, TaskSettled(outcome=outcome))

    assert (task.status, task.summary, task.ended_ms, task.output) == (status, summary, 12, "text")
    assert task.error == (ERROR if status == "failed" else None)


def test_a_task_between_two_runs_is_not_settled():
    task = after(RunStarted(prompt="look"), RunEnded(outcome=Succeeded(), output="one"), RunStarted(prompt="more"))

    assert (task.status, task.summary) == ("running", "Continuing Finder: scan")
    assert [run.output for run in task.runs] == ["one", None]
    assert task.output == "one"


@pytest.mark.parametrize(
    "late",
    [
        TextDelta(text="late"),
        RunStarted(prompt="again"),
        RunEnded(outcome=Succeeded()),
        TaskSettled(outcome=Failed(error=ERROR)),
        ToolStarted(call_id="1", tool="read"),
        UsageAdded(usage=Usage()),
        AccountCharged(remaining=Remaining(requests=1)),
    ],
)
def test_a_settled_task_never_changes(late):
    settled = after(RunStarted(prompt="look"), TaskSettled(outcome=Succeeded()))

    assert apply(settled, late, at_ms=99) is settled


def test_a_settled_task_takes_the_record_that_its_work_has_landed_and_nothing_else_of_it_changes():
    settled = after(RunStarted(prompt="look"), TaskSettled(outcome=Succeeded()))
    kept = WorkspaceKept(base="b", ref="refs/ohm/t", files=1, insertions=1, deletions=0, landed="clean")

    late = apply(settled, kept, at_ms=99)

    assert late == replace(settled, activity=replace(settled.activity, workspace=kept))


def test_a_settled_task_takes_what_was_used_for_it_all_the_same_and_nothing_else_of_it_changes():
    settled = after(RunStarted(prompt="look"), TaskSettled(outcome=Cancelled(reason="Enough.")))
    used = Usage(input_tokens=7)

    own = apply(settled, UsageAdded(usage=used), at_ms=99)
    late = apply(own, AccountCharged(usage=used), at_ms=99)

    assert late == replace(settled, activity=replace(settled.activity, usage=used, account=Account(below=used)))


def test_only_streamed_facts_are_kept_as_events_and_only_the_newest():
    deltas = [TextDelta(text=str(number)) for number in range(5)]

    task = after(RunStarted(prompt="look"), *deltas, task=queued(max_events=3))

    assert [recorded.event.text for recorded in task.activity.events] == ["2", "3", "4"]
    assert (task.activity.event_total, task.text) == (5, "01234")


def test_texts_of_two_turns_are_told_apart():
    call = {"call_id": "1", "tool": "read"}

    task = after(
        TextDelta(text="Let me "),
        TextDelta(text="look."),
        ToolStarted(**call),
        ToolEnded(**call, status="success"),
        TextDelta(text="Done."),
    )

    assert task.text == "Let me look.\n\nDone."


def test_open_calls_are_known_until_they_end_and_each_counts_once():
    started = [ToolStarted(call_id=call_id, tool="read") for call_id in ("a", "b")]

    task = after(*started, ToolEnded(call_id="a", tool="read", status="error"))

    assert [call.call_id for call in task.activity.open_calls] == ["b"]
    assert task.activity.usage.tool_calls == 2


def test_usage_adds_up_and_an_empty_route_keeps_what_is_known():
    task = after(
        RouteResolved(provider="acme", model="m1", runtime="pi-sdk", route="interactive-sdk"),
        RouteResolved(model="m2"),
        UsageAdded(usage=Usage(requests=1, input_tokens=10, output_tokens=2, cached_tokens=5)),
        UsageAdded(usage=Usage(requests=1, input_tokens=20, output_tokens=3)),
    )

    assert task.route == Route(provider="acme", model="m2", runtime="pi-sdk", route="interactive-sdk")
    assert task.activity.usage == Usage(requests=2, input_tokens=30, output_tokens=5, cached_tokens=5)


def test_checkpoints_diagnostics_and_thinking_leave_the_event_log_alone():
    diagnostic = Diagnostic(subject="model", message="No thinking.")

    task = after(Checkpointed(state="{}"), DiagnosticRaised(diagnostic=diagnostic), ThinkingDelta(text="hm"))

    assert (task.activity.checkpoint, task.diagnostics, task.activity.events) == ("{}", (diagnostic,), ())
