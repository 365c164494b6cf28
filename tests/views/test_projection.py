"""The envelope of a reply about several tasks, and about a call that was refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_tasks import with_fields

from ohm_subagents._views import projection
from ohm_subagents._views.projection import project
from ohm_subagents._views.reply_lines import lines_of
from ohm_subagents.contract import (
    Accepted,
    CancelReply,
    CommandRejected,
    ErrorCode,
    ItemRejected,
    Missing,
    OhmError,
    RouteResolved,
    SendReply,
    StartItem,
    StartReply,
    TasksReply,
)

ERROR = OhmError(code=ErrorCode.PERMISSION_DENIED, message="Denied.")
ITEM = StartItem(profile="finder", description="d", prompt="p", invocation="primary-tool")


def details(reply, *, batch: bool = False) -> dict[str, object]:
    return dict(project(lines_of(reply, batch=batch), output_max_chars=100).payload())


def seen(*tasks):
    return TasksReply(items=tuple(Accepted(task=task) for task in tasks), backend="usual", op="status")


def test_the_status_of_several_is_that_which_asks_most(running, succeeded, failed, cancelled) -> None:
    queued = replace(running(), status="queued", runs=())
    order = [failed(ERROR), running(), queued, cancelled(), succeeded()]
    for worst in range(len(order)):
        assert details(seen(*reversed(order[worst:])))["status"] == order[worst].status
    missing = Missing(id="x", error=ERROR)
    assert (
        details(TasksReply(items=(missing, Accepted(task=running())), backend="b", op="status"))["status"] == "failed"
    )


def test_a_follow_up_that_was_answered_is_running_for_as_long_as_its_task_goes_on(succeeded, failed, cancelled) -> None:
    assert details(SendReply(task=succeeded(), goes_on=True))["status"] == "running"
    for task in (succeeded(), failed(ERROR), cancelled()):
        assert details(SendReply(task=task))["status"] == task.status
    for task in (failed(ERROR), cancelled()):
        assert details(SendReply(task=task, goes_on=True))["status"] == task.status


def test_an_item_that_never_ran_has_no_say_in_who_did_the_work(succeeded, cancelled) -> None:
    ran = succeeded("a", RouteResolved(provider="acme", model="m", runtime="r", route="x"))
    never = replace(cancelled(), runs=(), route=replace(ran.route, provider="unavailable", model="unavailable"))
    told = details(seen(ran, never))
    assert [told[key] for key in ("provider", "model", "runtime", "route")] == ["acme", "m", "r", "x"]
    elsewhere = replace(ran, route=replace(ran.route, provider="other"))
    assert details(seen(ran, elsewhere))["provider"] == "mixed"
    assert details(seen(never))["provider"] == "unavailable"


@pytest.mark.parametrize("make", [seen, lambda *tasks: StartReply(items=seen(*tasks).items, backend="usual")])
def test_the_backend_is_that_of_the_items_if_they_share_one(succeeded, make) -> None:
    here, there = (with_fields(succeeded(), backend=name) for name in ("here", "there"))
    assert details(make(here, here), batch=True)["backend"] == "here"
    assert details(make(here, there), batch=True)["backend"] == "usual"


@pytest.mark.parametrize(
    "reply",
    [
        CommandRejected(error=ERROR, backend="b", items=(ITEM,)),
        StartReply(items=(ItemRejected(item=ITEM, error=ERROR),), backend="b"),
        StartReply(
            items=(ItemRejected(item=ITEM, error=ERROR, profile="finder", invocation="primary-tool"),), backend="b"
        ),
    ],
    ids=["the call", "an unknown profile", "a known one"],
)
def test_every_refusal_of_a_start_says_what_was_asked_for(reply) -> None:
    told = details(reply)
    asked = {"subagent_type": "finder", "description": "d", "invocation": "primary-tool", "output_available": False}
    assert asked.items() <= told.items()


def test_every_key_is_one_that_its_record_declares(succeeded, failed, monkeypatch) -> None:
    for name in ("Envelope", "CancelEnvelope", "Item", "BatchEnvelope", "StatusEnvelope", "WaitEnvelope"):
        declared = getattr(projection, name)
        monkeypatch.setattr(projection, name, type(name, (declared,), {}, extra="forbid"))
    answered, broken = Accepted(task=succeeded("a")), Accepted(task=failed(ERROR))
    refused = ItemRejected(item=ITEM, error=ERROR)
    items = (answered, broken, refused)
    assert details(StartReply(items=items, backend="b"), batch=True)["total_count"] == 3
    for item in items:
        assert details(StartReply(items=(item,), backend="b"))["op"] == "start"
    for op in ("status", "wait"):
        reply = TasksReply(items=(broken, Missing(id="x", error=ERROR)), backend="b", op=op, wait_status="timeout")
        assert details(reply)["op"] == op
    for applied in (True, False):
        assert details(CancelReply(task=broken.task, applied=applied, prior="running"))["cancel_applied"] is applied
