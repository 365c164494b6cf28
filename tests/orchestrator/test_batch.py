"""The news of a batch about its items (task-v1, Q51)."""

import anyio
import pytest

from ohm_subagents import ErrorCode
from ohm_subagents.contract import OhmError
from ohm_subagents.testing import EventLog, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio

BROKEN = Step(error=OhmError(code="broken", message="It broke."))
GIVEN_UP = Step(error=OhmError(code=ErrorCode.TASK_ABORTED, message="It gave up."))


def batch(*profiles, **extra):
    tasks = [{"subagent_type": one, "description": f"d{n}", "prompt": f"p{n}"} for n, one in enumerate(profiles)]
    return {"op": "start", "tasks": tasks, **extra}


@pytest.mark.parametrize(
    ("steps", "profiles", "batch_status", "status"),
    [
        (["a", "b"], ["finder", "finder"], "completed", "succeeded"),
        (["a", BROKEN], ["finder", "finder"], "partial", "failed"),
        ([BROKEN, BROKEN], ["finder", "finder"], "partial", "failed"),
        (["a", GIVEN_UP], ["finder", "finder"], "partial", "failed"),
        ([GIVEN_UP, GIVEN_UP], ["finder", "finder"], "partial", "failed"),
        (["a"], ["finder", "nobody"], "partial", "failed"),
        ([], ["nobody", "nobody"], "rejected", "failed"),
    ],
)
async def test_the_batch_status_tells_what_became_of_the_items(steps, profiles, batch_status, status):
    async with quick_ohm(backend=ScriptedBackend(*steps)) as ohm:
        details = (await ohm.call("task", batch(*profiles))).details

    assert (details["batch_status"], details["status"]) == (batch_status, status)
    counts = (details["accepted_count"], details["rejected_count"], details["total_count"])
    assert counts == (sum(one == "finder" for one in profiles), profiles.count("nobody"), len(profiles))


async def test_a_batch_in_the_background_is_accepted_and_ends_by_itself():
    gate = anyio.Event()
    config = {"subagents": {"asyncStart": "allow"}}
    async with quick_ohm(Step(text="a", gate=gate), Step(text="b"), config=config) as ohm:
        accepted = (await ohm.call("task", batch("finder", "nobody", "finder") | {"async": True})).details
        gate.set()
        waited = (await ohm.call("task", {"op": "wait", "ids": ["task_1", "task_2"]})).details

    assert (accepted["batch_status"], accepted["status"]) == ("accepted", "running")
    assert [item.get("status") for item in accepted["items"]] == ["queued", None, "queued"]
    assert (accepted["accepted_count"], accepted["rejected_count"]) == (2, 1)
    assert [item["output"] for item in waited["items"]] == ["a", "b"]


async def test_an_abort_cancels_the_running_and_the_queued_items():
    backend, log, abort = ScriptedBackend(Step(gate=anyio.Event())), EventLog(), anyio.Event()
    results = []
    async with quick_ohm(backend=backend, plugins=[log]) as ohm:

        async def start():
            results.append(await ohm.call("task", batch("finder", "finder", "finder"), abort=abort))

        async with anyio.create_task_group() as group:
            group.start_soon(start)
            await log.until(lambda _task, event: event.kind == "run_started")
            abort.set()

    (result,) = results
    assert [item["status"] for item in result.details["items"]] == ["cancelled"] * 3
    assert (result.details["batch_status"], result.details["status"]) == ("partial", "failed")
    assert [request.task_id for request in backend.calls] == ["task_1"]


async def test_a_refused_item_is_told_by_the_id_of_its_profile():
    """As a start of one is; an unknown one stays in the caller's words."""
    config = {"subagents": {"permissions": {"subagents": {"oracle": "deny"}}}}
    async with quick_ohm(config=config) as ohm:
        items = (await ohm.call("task", batch(" ORACLE ", " Nobody "))).details["items"]

    assert [item["subagent_type"] for item in items] == ["oracle", " Nobody "]
