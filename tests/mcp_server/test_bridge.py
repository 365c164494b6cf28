"""The child tools of a run, for an agent outside of this process: `ToolBridge` with the official client."""

import contextvars
import json
from contextlib import asynccontextmanager

import anyio
import httpx2
import mcp.shared._otel
import pytest
from acting import ActingBackend
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from opentelemetry import trace
from recorded_spans import RecordedSpans
from subagent_runs import EventLog

from ohm_subagents import Ohm, tool
from ohm_subagents.contract import Err, ErrorCode, Finalized, ToolEnded, ToolStarted, ToolUpdated, Usage, UsageAdded
from ohm_subagents.mcp import ToolBridge
from ohm_subagents.suite import Image, ToolCall, ToolResult, finalize_tool
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio
RUN = contextvars.ContextVar("RUN", default="none")


@pytest.fixture
def anyio_backend():
    """It listens at a real socket."""
    return "asyncio"


@pytest.fixture
async def bridge():
    async with ToolBridge.serve() as serving:
        yield serving


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def waiting_tool():
    """A tool whose call does not end by itself, and the events that it sets when it begins and when it ends."""
    begun, ended = anyio.Event(), anyio.Event()

    @tool
    async def waits() -> str:
        """Wait."""
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    return waits, begun, ended


@asynccontextmanager
async def agent(endpoint, mode="auto"):
    """A client, as an agent has one."""
    async with httpx2.AsyncClient(headers=endpoint.headers) as http:
        transport = streamable_http_client(endpoint.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@asynccontextmanager
async def offered(bridge, *tools, log=None):
    async with bridge.offer(tools, log or EventLog()) as offer:
        yield offer.unwrap()


def said(result):
    return result.content[0].text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_agent_lists_and_calls_the_tools_of_its_run(bridge, mode):
    log = EventLog()
    async with offered(bridge, add, log=log) as endpoint, agent(endpoint, mode) as client:
        [listed] = (await client.list_tools()).tools
        await endpoint.listed()
        result = await client.call_tool("add", {"a": 2, "b": 3})

    assert (listed.name, listed.description) == ("add", "Add two numbers.")
    assert listed.input_schema["required"] == ["a", "b"]
    assert said(result) == "5"
    assert log.events == [
        ToolStarted(call_id="ohm_1", tool="add", args='{"a":2,"b":3}'),
        ToolEnded(call_id="ohm_1", tool="add", status="success", text="5"),
    ]


async def test_a_failed_call_is_an_error_result_and_costs_nothing_else(bridge):
    @tool
    def breaks() -> str:
        """Break."""
        raise RuntimeError("it broke")

    log = EventLog()
    async with offered(bridge, breaks, add, log=log) as endpoint, agent(endpoint) as client:
        broken = await client.call_tool("breaks", {})
        wrong = await client.call_tool("add", {"a": "x"})
        with pytest.raises(MCPError, match="There is no tool 'sub'; there are: breaks, add"):
            await client.call_tool("sub", {})

    assert broken.is_error
    assert said(broken) == "RuntimeError: it broke"
    assert wrong.is_error
    assert said(wrong).startswith("add was not called.")
    assert [event.status for event in log.of(ToolEnded)] == ["error", "error"]


async def test_the_tools_of_a_run_are_for_its_token_alone(bridge):
    @tool
    def other() -> str:
        """Belong to another run."""
        return "other"

    async with (
        offered(bridge, add) as one,
        offered(bridge, other) as two,
        agent(one) as first,
        agent(two) as second,
    ):
        names = [[each.name for each in (await client.list_tools()).tools] for client in (first, second)]
        with pytest.raises(MCPError, match="There is no tool 'other'"):
            await first.call_tool("other", {})

    assert names == [["add"], ["other"]]
    assert one.url == two.url
    assert one.token not in repr(one)


async def test_a_call_after_the_end_is_refused_in_one_sentence(bridge):
    async with offered(bridge, add) as endpoint:
        pass
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {}}}
    async with httpx2.AsyncClient() as http:
        refusals = [await http.post(endpoint.url, json=body, headers=given) for given in (endpoint.headers, {})]

    for refusal in refusals:
        assert refusal.status_code == 401
        sentence = refusal.json()["error"]["message"]
        assert sentence == "The token is of no run that goes on: it is wrong, or its run has ended."


async def test_a_run_that_ends_ends_its_calls(bridge):
    waits, begun, ended = waiting_tool()
    answers = []

    async def ask(endpoint):
        async with agent(endpoint) as client:
            answers.append(await client.call_tool("waits", {}))

    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as run:
            async with offered(bridge, waits) as endpoint:
                group.start_soon(ask, endpoint)
                await begun.wait()
                run.cancel()
                await anyio.sleep_forever()
        assert ended.is_set()

    assert answers[0].is_error
    assert said(answers[0]) == "The run has ended: its tools cannot be called any more."


async def test_an_agent_that_goes_away_ends_its_call_and_not_the_run(bridge):
    waits, begun, ended = waiting_tool()
    log = EventLog()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "waits", "arguments": {}}}
    async with offered(bridge, waits, log=log) as endpoint, anyio.create_task_group() as group:

        async def ask():
            async with httpx2.AsyncClient(headers=endpoint.headers) as http:
                await http.post(endpoint.url, json=call, headers={"Accept": "application/json"})

        group.start_soon(ask)
        await begun.wait()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await ended.wait()

    assert [event.status for event in log.of(ToolEnded)] == ["interrupted"]


async def test_calls_run_in_the_context_of_the_run(bridge):
    @tool
    def which() -> str:
        """Name the run."""
        return RUN.get()

    RUN.set("first")
    async with offered(bridge, which) as first, agent(first) as one:
        RUN.set("second")
        async with offered(bridge, which) as second, agent(second) as two:
            assert [said(await client.call_tool("which", {})) for client in (one, two)] == ["first", "second"]


async def test_an_image_is_an_image_for_the_agent(bridge):
    @tool
    def draws() -> ToolResult:
        """Draw."""
        return ToolResult(text="a dot", details={}, images=(Image(data=b"dot", media_type="image/png"),))

    async with offered(bridge, draws) as endpoint, agent(endpoint) as client:
        [text, image] = (await client.call_tool("draws", {})).content

    assert (text.text, image.data, image.mime_type) == ("a dot", "ZG90", "image/png")


async def test_a_call_is_traced_by_its_task_alone(bridge, monkeypatch):
    spans = RecordedSpans(monkeypatch)
    monkeypatch.setattr(mcp.shared._otel, "_tracer", trace.get_tracer_provider().get_tracer("mcp"))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 1}}}
    async with offered(bridge, add) as endpoint, httpx2.AsyncClient(headers=endpoint.headers) as http:
        answer = await http.post(endpoint.url, json=call, headers={"Accept": "application/json"})

    assert answer.json()["result"]["content"][0]["text"] == "2"
    assert spans.all() == ()


async def test_progress_is_told_under_the_call(bridge):
    @tool
    def slow(call: ToolCall) -> str:
        """Tell of progress."""
        call.on_update(ToolResult(text="half", details={}))
        return "whole"

    log = EventLog()
    async with offered(bridge, slow, log=log) as endpoint, agent(endpoint) as client:
        await client.call_tool("slow", {})

    assert log.of(ToolUpdated) == [ToolUpdated(call_id="ohm_1", tool="slow", text="half")]


async def test_an_answer_is_handed_in_within_its_call(bridge):
    log = EventLog()
    async with offered(bridge, finalize_tool(None, log.emit), log=log) as endpoint, agent(endpoint) as client:
        await client.call_tool("subagent_finalize", {"status": "SUCCESS", "result": "Done."})

    assert [type(event) for event in log.events] == [ToolStarted, Finalized, ToolEnded]


async def test_a_long_name_is_cut_for_the_agent_and_whole_in_events(bridge):
    long = tool(lambda: "here", name=f"mcp__{'s' * 30}__{'t' * 27}", description="Have a long name.")
    log = EventLog()
    async with offered(bridge, long, log=log) as endpoint, agent(endpoint) as client:
        [listed] = (await client.list_tools()).tools
        assert said(await client.call_tool(listed.name, {})) == "here"

    assert len(listed.name) == 48
    assert endpoint.tools == {listed.name: long.name}
    assert [event.tool for event in log.events] == [long.name, long.name]


async def test_what_a_run_raises_comes_out_as_it_is(bridge):
    with pytest.raises(ValueError, match="mine"):
        async with offered(bridge, add):
            raise ValueError("mine")


def test_trio_is_refused_with_what_to_do():
    async def refused():
        async with ToolBridge.serve() as bridge, bridge.offer((add,), EventLog()) as offer:
            return offer

    refusal = anyio.run(refused, backend="trio")
    assert isinstance(refusal, Err)
    assert refusal.err_value.code == ErrorCode.EVENT_LOOP_UNSUPPORTED


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (OSError(98, "Address already in use"), "Tools cannot be served at 127.0.0.1: Address already in use."),
        (ImportError("No module named 'mcp'"), "given to an agent outside of this process: No module named 'mcp'."),
    ],
)
async def test_a_server_that_does_not_start_is_an_error_of_each_run(bridge, monkeypatch, fault, sentence):
    def refuse(*_):
        raise fault

    monkeypatch.setattr("ohm_subagents.mcp.bridge_server.listener_at", refuse)
    for _ in range(2):
        async with bridge.offer((add,), EventLog()) as offer:
            assert sentence in offer.unwrap_err().message


async def test_a_request_of_50_mb_is_refused(bridge):
    async with offered(bridge, add) as endpoint, httpx2.AsyncClient(headers=endpoint.headers) as http:
        refusal = await http.post(endpoint.url, content=b" " * 5_000_000)
    assert refusal.status_code == 413
    assert json.loads(refusal.content)["error"]["message"].startswith("The message has 5000000 bytes; allowed: 4194304")


async def test_what_a_subagent_uses_that_an_agent_starts_by_a_tool_of_its_run_counts_for_the_run(bridge):
    @tool
    async def ask(question: str) -> str:
        """Ask another subagent."""
        return (await ohm.run("finder", question)).unwrap().output

    async def act(request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=2)))
        if request.prompt != "Ask.":
            return "found"
        async with bridge.offer(request.spec.child_tools, sink) as offer, agent(offer.unwrap()) as client:
            return said(await client.call_tool("ask", {"question": "Where?"}))

    config = {"subagentBackend": "acting", "subagents": {"budget": {"depth": 2}}}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[ActingBackend(act)]) as ohm:
        envelope = (await ohm.run("task", "Ask.", tools=[ask])).unwrap()

    assert envelope.output == "found"
    assert (envelope.usage.own.requests, envelope.usage.tree.requests) == (2, 4)
