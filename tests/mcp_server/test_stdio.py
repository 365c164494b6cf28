"""`ohm mcp` in a process of its own, over its standard streams."""

import signal

import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_process import EXECUTABLE, INITIALIZED, META, NEW, OLD, call, initialize, mcp_process, place_of, request

MOST_CPU_S = 1.0
"""Twice what it takes on a slow machine, and less than the import of an agent loop."""


@pytest.fixture
def anyio_backend():
    """A process takes real time."""
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One for all tests that leave nothing running; a client of the old era has begun."""
    with mcp_process(tmp_path_factory.mktemp("home")) as process:
        process.write(initialize(), INITIALIZED)
        assert process.read()["id"] == 0
        yield process


@pytest.mark.sample(2)
@pytest.mark.parametrize("first", [initialize(), request(0, "server/discover", era=NEW)], ids=[OLD, NEW])
def test_the_first_answer_costs_little(tmp_path, first):
    with mcp_process(tmp_path) as server:
        server.write(first)
        answer = server.read()
        spent = server.cpu_s()
        assert answer["id"] == 0
        assert "error" not in answer
        assert spent < MOST_CPU_S


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("era", [pytest.param(OLD, marks=pytest.mark.slow), NEW])
async def test_the_official_client_starts_a_task_over_the_streams(tmp_path, era):
    env = place_of(tmp_path, config='{"subagentBackend": "none"}')
    parameters = StdioServerParameters(command=str(EXECUTABLE), args=["mcp"], env=env, cwd=tmp_path)
    async with Client(stdio_client(parameters), mode="legacy" if era == OLD else "auto") as client:
        assert client.protocol_version == era
        names = [tool.name for tool in (await client.list_tools()).tools]
        seen = []

        async def progress(count, _total, message):
            seen.append((count, message))

        arguments = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "Where?"}
        result = await client.call_tool("task", arguments, progress_callback=progress)

    assert "task" in names
    assert seen[0] == (1, "Starting Finder: d")
    assert "prompt: Where?" in result.content[0].text


def test_the_stream_that_a_client_closes_ends_everything(tmp_path):
    with mcp_process(tmp_path) as server:
        server.write(initialize(), INITIALIZED, call(1, "hang"))
        child = int(server.reached())
        returncode, rest, told = server.ended()

    assert (returncode, told) == (0, "")
    assert not psutil.pid_exists(child)
    assert {message.get("id") for message in rest} <= {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGINT, signal.SIGHUP))]
)
def test_a_signal_ends_everything_while_the_client_keeps_the_stream_open(tmp_path, number):
    with mcp_process(tmp_path) as server:
        server.write(initialize(), INITIALIZED, call(1, "hang"))
        child = int(server.reached())
        server.process.send_signal(number)
        assert server.process.wait(30) == 128 + number

    assert not psutil.pid_exists(child)


@pytest.mark.slow
def test_a_client_that_closes_only_its_reading_end_ends_everything(tmp_path):
    with mcp_process(tmp_path) as server:
        server.write(initialize())
        server.read()
        server.process.stdout.close()
        server.write(INITIALIZED, call(1, "answer", _meta={"progressToken": 1}))
        assert server.process.wait(30) == 0


@pytest.mark.slow
def test_a_request_that_is_cancelled_is_not_answered_and_its_task_is_cancelled(server):
    server.write(call("cancelled", "hang"))
    child = psutil.Process(int(server.reached()))
    server.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "cancelled"}})
    assert psutil.wait_procs([child], timeout=30)[0] == [child]
    server.write(call("cancelled", "answer"))
    assert server.read()["result"]["_meta"]["ohm/envelope"]["output"] == "line one\n  line two"


@pytest.mark.slow
def test_a_second_request_with_an_id_in_use_is_refused(server):
    server.write(call(1, "hang"))
    child = psutil.Process(int(server.reached()))
    server.write(call(1, "answer"), call(1, "answer"))
    sentence = "The request id 1 is in use by a request that goes on. Give each request an id of its own."
    for _ in range(2):
        assert server.read() == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": sentence}}
    server.write(call(2, "answer"))
    assert server.read()["result"]["isError"] is False
    server.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert psutil.wait_procs([child], timeout=30)[0] == [child]


@pytest.mark.slow
@pytest.mark.parametrize("id_first", [True, False])
def test_an_argument_of_50_mb_is_refused_and_the_next_request_is_answered(server, id_first):
    message = call("big", "x" * 50_000_000)
    if not id_first:
        message = {name: message[name] for name in ("method", "params", "jsonrpc", "id")}
    server.write(message)
    refusal = server.read()
    server.write(call(3, "answer"))
    assert server.read()["result"]["isError"] is False

    assert (refusal["id"], refusal["error"]["code"]) == ("big", -32600)
    assert refusal["error"]["message"].startswith("The message has 5000")
    assert refusal["error"]["message"].endswith("Write large input to a file, and name its path in the prompt.")


@pytest.mark.slow
def test_a_request_of_a_version_from_the_future_is_refused_with_those_that_are_known(tmp_path):
    future = request(1, "tools/list", era=NEW)
    future["params"]["_meta"] = META | {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    with mcp_process(tmp_path) as server:
        server.write(future)
        error = server.answer(1)["error"]
        server.write(request(2, "tools/list", era=NEW))
        assert "result" in server.answer(2)

    assert (error["code"], error["data"]) == (-32022, {"supported": [NEW], "requested": "2031-01-01"})


WRONG = {
    b"hello": (-32700, "A line is no JSON-RPC message: Invalid JSON: expected value at line 1 column 1."),
    b"[]": (-32700, "A line is no JSON-RPC message: "),
    b"{}": (-32700, "A line is no JSON-RPC message: "),
    b"\xff": (-32700, "A line is no JSON-RPC message: Invalid JSON: "),
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}': (-32600, "The id of a request is no text and no whole number."),
}


@pytest.mark.slow
def test_a_line_that_is_no_message_is_refused_and_the_rest_goes_on(server):
    server.write(b"", *WRONG, call(4, "answer"))
    refusals = [server.read() for _ in WRONG]
    assert server.read()["id"] == 4

    assert [(each["id"], each["error"]["code"]) for each in refusals] == [(None, code) for code, _ in WRONG.values()]
    for refusal, (_, sentence) in zip(refusals, WRONG.values(), strict=True):
        assert refusal["error"]["message"].startswith(sentence)
