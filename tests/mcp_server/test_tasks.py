"""Calls that a client polls by the extension `io.modelcontextprotocol/tasks`."""

import anyio
import pytest
from another_process import another_process
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_tasks import EXTENSION, Created, TasksExtension, ask, begun
from mcp_types import CallToolResult

from ohm_subagents import Ohm
from ohm_subagents.contract import ErrorCode, OhmError
from ohm_subagents.mcp import mcp_server
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio
ASYNC = {"subagents": {"asyncStart": "allow"}}


def start(prompt="p", **more):
    return {"op": "start", "subagent_type": "finder", "description": "d", "prompt": prompt, **more}


def batch(*prompts):
    tasks = [{"subagent_type": "finder", "description": "d", "prompt": prompt} for prompt in prompts]
    return {"op": "start", "tasks": tasks, "parallel": True}


def polling(ohm, **options):
    return Client(mcp_server(ohm), extensions=[TasksExtension()], **options)


def kept_in(folder, *steps):
    env = {**HERMETIC, "OHM_SUBAGENTS_STORE": "sqlite", "PI_CONFIG_DIR": f"{folder}"}
    backend = ScriptedBackend(*steps)
    return Ohm.open(cwd=folder, config={"subagentBackend": backend.id}, env=env, plugins=[backend])


async def test_a_call_that_starts_a_task_becomes_one_with_the_id_that_every_door_knows():
    gate = anyio.Event()
    async with quick_ohm(Step(gate=gate, text="found")) as ohm, polling(ohm) as client:
        task = await begun(client, "task", start())
        assert isinstance(task, Created)
        assert (task.task_id, task.status, ohm.task("task_1").status) == ("task_1", "working", "running")
        more = task.model_extra
        assert (more["ttlMs"], more["pollIntervalMs"]) == (86_400_000, 500)
        assert more["createdAt"] == more["lastUpdatedAt"] == "1970-01-01T00:00:00.000+00:00"

        state = await ask(client, "tasks/get", "task_1")
        assert (state.status, state.result) == ("working", None)
        gate.set()
        await ohm.handle("task_1").wait()
        await anyio.wait_all_tasks_blocked()
        state = await ask(client, "tasks/get", "task_1")

    assert (state.status, state.status_message) == ("completed", "Finder: d")
    result = CallToolResult.model_validate(state.result)
    assert (result.is_error, result.meta["ohm/envelope"]["output"]) == (False, "found")


async def test_a_batch_is_one_task_with_the_id_of_its_call():
    gate = anyio.Event()
    async with quick_ohm(*(Step(gate=gate, text=text) for text in "ab")) as ohm, polling(ohm) as client:
        task = await begun(client, "task", batch("one", "two"))
        assert ohm.handle(task.task_id).task_ids == ("task_1", "task_2")
        gate.set()
        await ohm.handle(task.task_id).wait()
        state = await ask(client, "tasks/get", task.task_id)

    envelope = state.result["_meta"]["ohm/envelope"]
    assert (state.status, envelope["batch_status"]) == ("completed", "completed")
    assert [item["output"] for item in envelope["items"]] == ["a", "b"]


async def test_a_failed_subagent_is_a_completed_task_whose_result_is_an_error():
    gate, error = anyio.Event(), OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke.")
    async with quick_ohm(Step(gate=gate, error=error)) as ohm, polling(ohm) as client:
        await begun(client, "task", start())
        gate.set()
        await ohm.handle("task_1").wait()
        await anyio.wait_all_tasks_blocked()
        state = await ask(client, "tasks/get", "task_1")

    assert (state.status, state.result["isError"]) == ("completed", True)
    assert "It broke." in state.result["content"][0]["text"]


async def test_a_task_is_cancelled_and_stays_so():
    async with quick_ohm(Step(gate=anyio.Event(), text="never")) as ohm, polling(ohm) as client:
        await begun(client, "task", start())
        await ask(client, "tasks/cancel", "task_1")
        await ohm.handle("task_1").wait()
        await anyio.wait_all_tasks_blocked()
        assert (await ask(client, "tasks/get", "task_1")).status == "cancelled"
        await ask(client, "tasks/cancel", "task_1")
        assert (await ask(client, "tasks/get", "task_1")).status == "cancelled"


async def test_a_batch_of_which_only_a_part_was_cancelled_is_completed_with_what_the_others_found():
    gate = anyio.Event()
    async with quick_ohm(*(Step(gate=gate, text=text) for text in "ab")) as ohm, polling(ohm) as client:
        task = await begun(client, "task", batch("one", "two"))
        await ohm.handle("task_2").cancel()
        gate.set()
        await ohm.handle(task.task_id).wait()
        state = await ask(client, "tasks/get", task.task_id)

    items = state.result["_meta"]["ohm/envelope"]["items"]
    assert state.status == "completed"
    assert [(item["status"], item.get("output")) for item in items] == [("succeeded", "a"), ("cancelled", None)]


async def test_a_task_goes_on_when_the_client_that_began_it_is_gone():
    gate = anyio.Event()
    async with quick_ohm(Step(gate=gate, text="found")) as ohm:
        async with polling(ohm) as client:
            await begun(client, "task", start())
        gate.set()
        await ohm.handle("task_1").wait()
        await anyio.wait_all_tasks_blocked()
        async with polling(ohm) as client:
            assert (await ask(client, "tasks/get", "task_1")).status == "completed"


async def test_what_starts_nothing_or_is_refused_is_no_task():
    async with quick_ohm("done", config=ASYNC) as ohm, polling(ohm) as client:
        refused = await begun(client, "task", start(subagent_type="nobody"))
        unknown = await begun(client, "task", {"op": "status", "id": "task_9"})
        accepted = await begun(client, "task", start(async_=True) | {"async": True})

    assert [type(each) for each in (refused, unknown, accepted)] == [CallToolResult] * 3
    assert (refused.is_error, unknown.is_error, accepted.is_error) == (True, True, False)


async def test_a_task_of_another_door_is_seen_and_cancelled_here():
    async with quick_ohm(Step(gate=anyio.Event()), "done") as ohm, polling(ohm) as client:
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        assert (await ask(client, "tasks/get", handle.id)).status == "working"
        await ask(client, "tasks/cancel", handle.id)
        await handle.wait()
        assert (await ask(client, "tasks/get", handle.id)).status == "cancelled"
        called = await ohm.call("task", start())
        state = await ask(client, "tasks/get", called.details["task_id"])

    assert state.result["content"][0]["text"] == called.text


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_of_a_real_other_process_is_cancelled_there(tmp_path):
    with another_process(tmp_path) as (task_id, _process):
        async with kept_in(tmp_path) as ohm, polling(ohm) as client:
            await ask(client, "tasks/cancel", task_id)
            assert ohm.task(task_id).status == "cancelled"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # a virtual clock runs out while the store writes
async def test_a_new_server_answers_for_the_tasks_of_the_one_before_it(tmp_path):
    async with kept_in(tmp_path, Step(text="found")) as ohm, polling(ohm) as client:
        one = await begun(client, "task", start())
        done = await ohm.handle(one.task_id).wait()
        assert done.is_ok()
    gates = [anyio.Event() for _ in range(3)]
    async with kept_in(tmp_path, *(Step(gate=gate, text="never") for gate in gates)) as ohm, polling(ohm) as client:
        several = await begun(client, "task", batch("one", "two"))
        late = await begun(client, "task", start())

    async with kept_in(tmp_path) as ohm, polling(ohm) as client:
        states = [await ask(client, "tasks/get", task.task_id) for task in (one, several, late)]

    assert [state.status for state in states] == ["completed", "cancelled", "cancelled"]
    envelope = states[0].result["_meta"]["ohm/envelope"]
    assert (envelope["task_id"], envelope["output"]) == (one.task_id, "found")
    assert f"{done.ok_value.output}" in states[0].result["content"][0]["text"]


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/update"])
async def test_an_unknown_task_is_an_error_that_says_so(method):
    more = {"input_responses": {}} if method == "tasks/update" else {}
    async with quick_ohm() as ohm, polling(ohm) as client:
        with pytest.raises(MCPError) as raised:
            await ask(client, method, "task_9", **more)

    assert raised.value.error.code == -32602
    assert raised.value.error.message.startswith("There is no task 'task_9'.")


async def test_answers_to_questions_that_nobody_asked_are_ignored():
    async with quick_ohm("done") as ohm, polling(ohm) as client:
        handle = await ohm.start("finder", "p")
        before = await handle.wait()
        await ask(client, "tasks/update", handle.id, input_responses={"q": {"action": "accept"}})
        assert ohm.envelope(handle.id) == before.unwrap()
        assert (await ask(client, "tasks/get", handle.id)).status == "completed"


@pytest.mark.parametrize("method", ["tasks/result", "tasks/list"])
async def test_the_methods_of_the_former_tasks_are_not_found(method):
    async with quick_ohm() as ohm, polling(ohm) as client:
        with pytest.raises(MCPError) as raised:
            await ask(client, method, "task_1")

    assert raised.value.error.code == -32601


async def test_a_client_that_does_not_declare_the_extension_waits_and_may_not_poll():
    async with quick_ohm("found") as ohm, Client(mcp_server(ohm)) as client:
        result = await client.call_tool("task", start())
        assert result.meta["ohm/envelope"]["output"] == "found"
        with pytest.raises(MCPError) as raised:
            await ask(client, "tasks/get", "task_1")

    assert raised.value.error.code == -32021
    assert raised.value.error.data == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


async def test_a_client_of_the_old_era_has_no_tasks():
    async with quick_ohm("found") as ohm, polling(ohm, mode="legacy") as client:
        assert isinstance(await begun(client, "task", start()), CallToolResult)
        with pytest.raises(MCPError) as raised:
            await ask(client, "tasks/get", "task_1")

    assert raised.value.error.code == -32601
