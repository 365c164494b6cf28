"""The tools of an `Ohm` as the official MCP client sees them, in both eras of the protocol."""

import anyio
import pytest
from mcp import Client
from mcp_types import TextContent

from ohm_subagents.contract import TextDelta
from ohm_subagents.mcp import mcp_server
from ohm_subagents.testing import ScriptedBackend, Step, quick_ohm

OLD, NEW = "2025-11-25", "2026-07-28"
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", [OLD, NEW])]


def start(prompt="p", **more):
    return {"op": "start", "subagent_type": "finder", "description": "d", "prompt": prompt, **more}


def client_of(ohm, era, *, structured=False, **options):
    mode = "legacy" if era == OLD else "auto"
    return Client(mcp_server(ohm, structured=structured), mode=mode, **options)


def text_of(result):
    (part,) = result.content
    assert isinstance(part, TextContent)
    return part.text


async def test_a_client_gets_the_tools_with_their_names_descriptions_and_schemas(era):
    async with quick_ohm() as ohm, client_of(ohm, era) as client:
        listed = (await client.list_tools()).tools
        assert client.protocol_version == era
        assert [tool.name for tool in listed] == [*ohm.tools]
        first = ohm.tools["task"]
        assert (listed[0].title, listed[0].description) == (first.label, first.description)
        assert listed[0].input_schema == first.input_schema
        assert "hand focused tasks to subagents" in client.instructions


async def test_a_call_has_the_text_of_the_tool_and_its_envelope_beside_it(era):
    async with quick_ohm("found", "found") as ohm, client_of(ohm, era) as client:
        result = await client.call_tool("task", start())
        called = await ohm.call("task", start())

    assert text_of(result).replace("task_1", "task_2") == called.text
    assert (result.is_error, result.structured_content) == (False, None)
    envelope = result.meta["ohm/envelope"]
    assert (envelope["status"], envelope["output"], envelope["task_id"]) == ("succeeded", "found", "task_1")


async def test_structured_content_is_the_envelope_where_it_is_asked_for(era):
    async with quick_ohm("found") as ohm, client_of(ohm, era, structured=True) as client:
        (tool, *_) = (await client.list_tools()).tools
        result = await client.call_tool("task", start())

    assert tool.output_schema == {"type": "object"}
    assert result.structured_content["output"] == "found"
    assert text_of(result)


async def test_each_frame_is_progress_that_grows(era):
    seen = []

    async def progress(count, total, message):
        seen.append((count, total, message))

    steps = [Step(events=(TextDelta(text="half"),), delay_s=1, text="done")]
    async with quick_ohm(*steps) as ohm, client_of(ohm, era) as client:
        await client.call_tool("task", start(), progress_callback=progress)

    counts = [count for count, _, _ in seen]
    assert counts == [*range(1, len(seen) + 1)]
    assert seen[0] == (1, None, "Starting Finder: d")
    assert seen[-1][2] == "Finder: d"


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("tusk", {}, "No tool is called 'tusk'. Did you mean 'task'? Mounted tools: librarian, task."),
        ("task", {"op": "dance"}, "op"),
        ("task", {"op": "status", "id": "task_9"}, "task_9"),
        ("task", None, "op"),
    ],
)
async def test_bad_input_is_a_result_with_a_sentence(era, name, arguments, sentence):
    async with quick_ohm() as ohm, client_of(ohm, era) as client:
        result = await client.call_tool(name, arguments)

    assert result.is_error
    assert sentence in text_of(result)


async def test_a_call_that_the_client_cancels_is_cancelled_and_nothing_goes_on(era):
    async with quick_ohm(Step(gate=anyio.Event(), text="never")) as ohm, client_of(ohm, era) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "task", start())
            await anyio.wait_all_tasks_blocked()
            assert ohm.task("task_1").status == "running"
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            await ohm.handle("task_1").wait()
        assert ohm.task("task_1").status == "cancelled"


async def test_a_client_that_goes_away_ends_its_calls(era):
    backend = ScriptedBackend(Step(gate=anyio.Event(), text="never"))
    async with quick_ohm(backend=backend) as ohm:
        async with anyio.create_task_group() as group, client_of(ohm, era) as client:
            group.start_soon(client.call_tool, "task", start())
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            await ohm.handle("task_1").wait()
        assert ohm.task("task_1").status == "cancelled"


async def test_clients_work_at_the_same_time(era):
    gate = anyio.Event()
    steps = [Step(gate=gate, text=f"{number}") for number in range(3)]
    answers = []
    async with quick_ohm(*steps) as ohm:
        server = mcp_server(ohm)

        async def ask():
            async with Client(server, mode="legacy" if era == OLD else "auto") as client:
                answers.append((await client.call_tool("task", start())).meta["ohm/envelope"]["output"])

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            gate.set()

    assert sorted(answers) == ["0", "1", "2"]


async def test_what_ends_in_the_background_is_part_of_the_next_result_once(era):
    config = {"suites": ["task"], "subagents": {"asyncStart": "allow"}}
    gate = anyio.Event()
    async with quick_ohm(Step(text="A", gate=gate), "B", config=config) as ohm, client_of(ohm, era) as client:
        (described,) = [tool.description for tool in (await client.list_tools()).tools]
        begun = await client.call_tool("task", start("a", **{"async": True}))
        gate.set()
        await ohm.handle("task_1").wait()
        second = await client.call_tool("task", start("b"))
        third = await client.call_tool("task", {"op": "status", "ids": ["task_1"]})
    assert (len(begun.content), len(third.content)) == (1, 1)
    arrival = text_of(begun).splitlines()[-1]
    assert arrival.startswith("What ends in the background comes with the next result of any of these tools")
    assert arrival in described
    assert arrival not in text_of(third)
    own, told = (part.text for part in second.content)
    assert own.splitlines()[-1].endswith("B")
    assert told.startswith("What you had started in the background has ended since your last turn:\n\ntask task_1 ")
