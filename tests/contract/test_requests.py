"""Requests of a subagent: open until they are answered, and the same after they were written and read."""

import pytest
from made_tasks import queued_task

from ohm_subagents.contract import (
    AnswerAwaited,
    AnswerGiven,
    Approve,
    Deny,
    Request,
    SessionId,
    Succeeded,
    TaskId,
    TaskSettled,
    Text,
    apply,
    event_from_json,
    event_to_json,
)


def request(number):
    return Request(
        id=f"req_{number}",
        task_id=TaskId("task_1"),
        session_id=SessionId("session_1"),
        path=(TaskId("task_0"), TaskId("task_1")),
        profile="finder",
        tool="bash",
        arguments='{"command":"git push"}',
        options=("yes", "no"),
        asked_ms=5,
    )


def test_two_requests_are_open_until_each_is_answered():
    task = queued_task("task_1")
    for number in (1, 2):
        task = apply(task, AnswerAwaited(request=request(number)), at_ms=10)
    assert [one.id for one in task.requests] == ["req_1", "req_2"]
    task = apply(task, AnswerGiven(request_id="req_1", answer=Approve(), by="program"), at_ms=11)
    assert [one.id for one in task.requests] == ["req_2"]
    task = apply(task, AnswerGiven(request_id="req_1", answer=Deny(), by="expiry"), at_ms=12)
    assert [one.id for one in task.requests] == ["req_2"]


def test_a_settled_task_takes_no_answer():
    task = apply(queued_task("task_1"), TaskSettled(outcome=Succeeded()), at_ms=10)
    assert apply(task, AnswerAwaited(request=request(1)), at_ms=11) is task


@pytest.mark.parametrize(
    "event",
    [
        AnswerAwaited(request=request(1)),
        AnswerGiven(request_id="req_1", answer=Approve("always"), by="callback"),
        AnswerGiven(request_id="req_1", answer=Deny("not today"), by="expiry"),
        AnswerGiven(request_id="req_1", answer=Text("the second one"), by="tool"),
    ],
)
def test_an_event_is_the_same_after_it_was_written_and_read(event):
    assert event_from_json(event_to_json(event)) == event
