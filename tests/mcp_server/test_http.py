"""`ohm mcp --http` in a process of its own."""

import json
import sys

import httpx2
import psutil
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_process import INITIALIZED, NEW, OLD, call, initialize, mcp_listener, request

from ohm_subagents.contract import Err, Ok
from ohm_subagents.mcp.http import Address, address

SECRET = "s3cret-s3cret-s3cret"


@pytest.fixture
def anyio_backend():
    """A process takes real time."""
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One for all tests that leave nothing running."""
    home = tmp_path_factory.mktemp("home")
    with mcp_listener(home, "--origin", "https://app.example", OHM_MCP_TOKEN=SECRET) as listener:
        yield listener


def opened(server):
    """Begin a session of the old era; return the headers of its requests."""
    response = server.post(initialize())
    response.read()
    headers = {"Mcp_Session_Id": response.headers["mcp-session-id"], "Mcp_Protocol_Version": OLD}
    server.post(INITIALIZED, **headers).read()
    return headers


def modern(message):
    """The headers of a request of the new era."""
    name = message["params"].get("name")
    return {
        "Mcp_Protocol_Version": NEW,
        "Mcp_Method": message["method"],
        **({} if name is None else {"Mcp_Name": name}),
    }


def messages(response):
    """The messages of an answer, whichever way it is sent."""
    body = response.read().decode()
    if response.headers["content-type"].startswith("application/json"):
        return [json.loads(body)]
    return [json.loads(line.removeprefix("data: ")) for line in body.splitlines() if line.startswith("data: {")]


@pytest.mark.anyio
@pytest.mark.parametrize("era", [OLD, NEW])
async def test_the_official_client_starts_a_task_over_http(server, era):
    bearer = httpx2.AsyncClient(headers={"Authorization": f"Bearer {SECRET}"})
    transport = streamable_http_client(server.url, http_client=bearer)
    async with bearer, Client(transport, mode="legacy" if era == OLD else "auto") as client:
        assert client.protocol_version == era
        seen = []

        async def progress(count, _total, message):
            seen.append((count, message))

        await client.list_tools()
        arguments = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "answer"}
        result = await client.call_tool("task", arguments, progress_callback=progress)

    assert seen[0][0] == 1
    assert result.meta["ohm/envelope"]["output"] == "line one\n  line two"


REFUSED = {
    "no token": ({"Authorization": None}, 401, "The token is missing or wrong."),
    "wrong token": ({"Authorization": "Bearer nothing"}, 401, "The token is missing or wrong."),
    "foreign page": ({"Origin": "https://evil.example"}, 403, "The origin 'https://evil.example' may not connect."),
    "opaque page": ({"Origin": "null"}, 403, "The origin 'null' may not connect."),
    "foreign name": ({"Host": "evil.example:80"}, 421, "The host 'evil.example:80' is not this machine."),
}
ALLOWED = [{"Origin": "http://localhost:5173"}, {"Origin": "https://app.example"}, {"Host": "localhost:1"}]


def test_who_may_ask(server):
    for headers, status, sentence in REFUSED.values():
        response = server.post(initialize(), **headers)
        assert response.status == status
        assert json.loads(response.read())["error"]["message"].startswith(sentence)
    for headers in ALLOWED:
        response = server.post(initialize(), **headers)
        assert response.status == 200
        response.read()


@pytest.mark.parametrize("era", [OLD, NEW])
def test_a_client_that_disconnects_in_the_middle_ends_its_call(server, era):
    message = call(1, "hang", era=era)
    headers = opened(server) if era == OLD else modern(message)
    connection = server.sent(message, **headers)
    child = psutil.Process(int(server.reached()))
    connection.close()
    gone, _ = psutil.wait_procs([child], timeout=30)
    assert gone == [child]


def test_a_second_request_with_an_id_in_use_is_refused(server):
    headers = opened(server)
    server.sent(call(1, "hang"), **headers)
    child = psutil.Process(int(server.reached()))
    response = server.post(call(1, "answer"), **headers)
    (refusal,) = messages(response)
    response = server.post(call(2, "answer"), **headers)
    answer = messages(response)[-1]
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    server.post(cancelled, **headers).read()
    gone, _ = psutil.wait_procs([child], timeout=30)

    assert (response.status, gone) == (200, [child])
    assert refusal["error"]["message"].startswith("The request id 1 is in use")
    assert answer["result"]["isError"] is False


@pytest.mark.sample(2)
@pytest.mark.parametrize("era", [OLD, NEW])
def test_an_argument_of_50_mb_is_refused_and_the_next_request_is_answered(server, era):
    headers = opened(server) if era == OLD else modern(call(1, era=era))
    response = server.post(call(1, "x" * 50_000_000, era=era), **headers)
    (refusal,) = messages(response)
    assert response.status == 413
    assert "Write large input to a file" in refusal["error"]["message"]
    response = server.post(call(2, "answer", era=era), **headers)
    assert messages(response)[-1]["result"]["isError"] is False


def test_a_version_from_the_future_is_refused_with_those_that_are_known(server):
    message = request(1, "tools/list", era=NEW)
    message["params"] = {
        "_meta": {**message["params"]["_meta"], "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    }
    response = server.post(message, **modern(message) | {"Mcp_Protocol_Version": "2031-01-01"})
    (refusal,) = messages(response)

    assert (response.status, refusal["error"]["code"]) == (400, -32022)
    assert refusal["error"]["data"]["supported"] == [NEW]


@pytest.mark.slow
def test_a_signal_ends_the_server_and_what_it_runs(tmp_path):
    with mcp_listener(tmp_path) as server:
        message = call(1, "hang", era=NEW)
        server.sent(message, **modern(message))
        child = int(server.reached())
        server.process.terminate()
        assert server.process.wait(30) == 143
        assert not psutil.pid_exists(child)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("8808", Address("127.0.0.1", 8808)),
        ("0", Address("127.0.0.1", 0)),
        ("localhost:1", Address("localhost", 1)),
        ("[::1]:65535", Address("::1", 65_535)),
        (":9", Address("127.0.0.1", 9)),
    ],
)
def test_addresses(typed, found):
    assert address(typed) == Ok(found)


@pytest.mark.parametrize("typed", ["", "x", "host:", "1:65536", "-1", "1.5", "٣"])
def test_a_bad_address_is_refused(typed):
    sentence = f"--http is {typed!r}; allowed: a port (0 for any free one), or host:port, say 127.0.0.1:8808."
    assert address(typed) == Err(sentence)


UNSAFE = {
    ("0.0.0.0:0", ""): "0.0.0.0 is open to other machines: set OHM_MCP_TOKEN to a secret of 16 characters or more, ",
    ("[::]:0", ""): ":: is open to other machines: ",
    ("127.0.0.1:0", "short"): "OHM_MCP_TOKEN has 5 characters; allowed: 16 or more, printable ASCII without spaces.",
    ("nowhere.invalid:0", "s" * 16): "Cannot listen at 'nowhere.invalid:0': ",
}


def test_without_the_package_it_says_what_to_install(ohm_at, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = ohm_at("mcp")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("`ohm mcp` needs the package mcp, which is not installed. Install it: pip install ")


@pytest.mark.parametrize(
    ("typed", "token"),
    [pytest.param(*one, marks=pytest.mark.slow) if "nowhere" in one[0] else one for one in UNSAFE],
)
def test_an_address_that_is_not_safe_is_refused(ohm_at, typed, token):
    done = ohm_at("mcp", "--http", typed, OHM_MCP_TOKEN=token)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(UNSAFE[typed, token])
