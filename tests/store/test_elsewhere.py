"""Tasks of another process: seen, waited for and steered; and taken over when that process is dead."""

import signal

import anyio
import pytest
from another_process import another_process

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents._orchestrator import elsewhere
from ohm_subagents.testing import HERMETIC, ScriptedBackend

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


def opened(folder, **subagents):
    env = HERMETIC | {"PI_CONFIG_DIR": str(folder), "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "scripted", "subagents": subagents}
    return Ohm.open(env=env, config=config, plugins=[ScriptedBackend("And now the rest.")])


async def item(ohm, op, task_id, **more):
    return (await ohm.call("task", {"op": op, "ids": [task_id], **more})).details["items"][0]


async def test_a_task_of_a_living_process_is_visible_and_goes_on(tmp_path):
    with another_process(tmp_path) as (task_id, _process):
        async with opened(tmp_path) as ohm:
            seen = await item(ohm, "status", task_id)
            waited = (await ohm.call("task", {"op": "wait", "id": task_id, "timeout_ms": 1})).details
            continued = (await ohm.run("finder", "and?", session=ohm.task(task_id).session_id)).err_value

    assert (seen["status"], seen["assistant_text"], seen["tool_rows"]) == ("running", "so far", ["○ read a.py"])
    assert continued.code == ErrorCode.SESSION_BUSY
    assert (waited["wait_status"], waited["items"][0]["status"]) == ("timeout", "running")


async def test_a_task_of_a_living_process_is_cancelled_there_for_whoever_asks_here(tmp_path):
    with another_process(tmp_path) as (task_id, _process):
        async with opened(tmp_path) as ohm:
            told = (await ohm.call("task", {"op": "cancel", "id": task_id})).details
            seen = await item(ohm, "status", task_id)
            again = (await ohm.call("task", {"op": "cancel", "id": task_id})).details
    assert (told["status"], told["cancel_applied"], told["prior_status"]) == ("cancelled", True, "running")
    assert (seen["status"], seen["assistant_text"]) == ("cancelled", "so far")
    assert (again["cancel_applied"], again["prior_status"]) == (False, "cancelled")


async def test_a_process_that_hangs_keeps_a_cancel_and_gets_no_follow_up_later(tmp_path, monkeypatch):
    monkeypatch.setattr(elsewhere, "TAKEN_WITHIN_S", 0.1)
    with another_process(tmp_path) as (task_id, process):
        process.send_signal(signal.SIGSTOP)
        async with opened(tmp_path) as ohm:
            sent = (await ohm.call("task", {"op": "send", "id": task_id, "prompt": "and?"})).details
            assert ohm.store.control.left(task_id) == ()
            told = (await ohm.call("task", {"op": "cancel", "id": task_id})).details
            [left] = ohm.store.control.left(task_id)
            process.send_signal(signal.SIGCONT)
            waited = await item(ohm, "wait", task_id)
    assert sent["error_code"] == told["error_code"] == ErrorCode.OWNED_ELSEWHERE
    assert f"pid {process.pid}" in told["error_message"]
    assert "withdrawn" in sent["error_message"] + str(sent)
    assert "cancel" in left.command
    assert waited["status"] == "cancelled"


async def test_who_waits_for_a_task_of_a_process_that_dies_is_told_so_with_all_that_was_done(tmp_path):
    with another_process(tmp_path) as (task_id, process):
        async with opened(tmp_path) as ohm, anyio.create_task_group() as group:
            answers = []

            async def wait():
                answers.append(await item(ohm, "wait", task_id))

            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            process.kill()

    [answer] = answers
    assert (answer["status"], answer["error_code"]) == ("failed", ErrorCode.REHYDRATED_INCOMPLETE)
    assert (answer["assistant_text"], answer["tool_rows"]) == ("so far", ["○ read a.py", "✕ read interrupted"])


async def test_a_task_whose_process_died_can_be_continued(tmp_path):
    with another_process(tmp_path) as (task_id, _process):
        pass
    async with opened(tmp_path, sendToFinished="resume") as ohm:
        sent = (await ohm.call("task", {"op": "send", "id": task_id, "prompt": "Go on."})).details
        former = ohm.task(task_id)

    assert (sent["status"], sent["output"], sent["resumed_from"]) == ("succeeded", "And now the rest.", task_id)
    assert sent["session_id"] == former.session_id
