"""Many clients at once, and a server that is killed under them: every task still has an answer from the next server."""

import signal
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_process import mcp_listener
from mcp_tasks import Created, TasksExtension, ask, begun

CLIENTS, CALLS = 32, 1_000
SECRET = "s3cret-s3cret-s3cret"
CONFIG = '{"subagentBackend": "stage", "taskMaxEntries": 5000, "subagents": {"taskMaxConcurrency": 8}}'
ARGUMENTS = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "answer"}


@pytest.fixture
def anyio_backend():
    """A process takes real time."""
    return "asyncio"


@asynccontextmanager
async def client_of(server):
    bearer = httpx2.AsyncClient(headers={"Authorization": f"Bearer {SECRET}"}, timeout=60)
    transport = streamable_http_client(server.url, http_client=bearer)
    async with bearer, Client(transport, extensions=[TasksExtension()]) as client:
        await client.list_tools()
        yield client


async def started(client):
    """Start a task; return its id, whether it has become one of the protocol or was over before."""
    answer = await begun(client, "task", ARGUMENTS)
    return answer.task_id if isinstance(answer, Created) else answer.meta["ohm/envelope"]["task_id"]


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.timeout(600)
async def test_every_task_of_a_killed_server_is_answered_by_the_next_one(tmp_path):
    ids, left = [], CALLS
    with mcp_listener(tmp_path, config=CONFIG, OHM_MCP_TOKEN=SECRET) as server:

        async def work():
            nonlocal left
            try:
                async with client_of(server) as client:
                    while left:
                        left -= 1
                        ids.append(await started(client))
                        if len(ids) == CALLS // 2:
                            server.process.send_signal(signal.SIGKILL)
            except Exception:  # noqa: BLE001  the server is gone
                pass

        async with anyio.create_task_group() as group:
            for _ in range(CLIENTS):
                group.start_soon(work)
        assert server.process.wait(10) == -signal.SIGKILL

    assert len(ids) >= CALLS // 2
    with mcp_listener(tmp_path, config=CONFIG, OHM_MCP_TOKEN=SECRET) as server:
        async with client_of(server) as client:
            states = [await ask(client, "tasks/get", task_id) for task_id in ids]
            again = await started(client)
    assert {state.task_id for state in states} == {*ids}
    assert {state.status for state in states} <= {"completed", "cancelled"}
    assert again not in ids
