"""The page of `ohm ui` over real HTTP: a server in this event loop, and a client that has its token."""

import json
import os
from contextlib import asynccontextmanager, suppress
from functools import partial

import anyio
import httpx

from ohm_subagents.commands import listener_at
from ohm_subagents.ui.server import serve_tasks

TOKEN = "t" * 43
PATIENCE_S = 60


@asynccontextmanager
async def served(ohm, *, port=0):
    """Serve the page of an `Ohm`; yields its address."""
    with listener_at("127.0.0.1", port) as listener:
        async with anyio.create_task_group() as group:
            await group.start(partial(serve_tasks, ohm, listener, token=TOKEN))
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            group.cancel_scope.cancel()


@asynccontextmanager
async def client_of(ohm, **options):
    """A client of the page of an `Ohm`."""
    async with served(ohm, **options) as url, client_at(url) as client:
        yield client


def client_at(url):
    headers = {"authorization": f"Bearer {TOKEN}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_S, trust_env=False)


def free_port():
    """A port that no other test is given meanwhile: not one of those that the system gives away."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        with suppress(OSError), listener_at("127.0.0.1", port):
            return port
    raise AssertionError("No port is free.")


async def got(client, path, *, code=200, **params):
    response = await client.get(path, params=params or None)
    assert response.status_code == code, response.text
    return response.json()


async def told(client, path, *, code=200, **body):
    response = await client.post(path, json=body)
    assert response.status_code == code, response.text
    return response.json()


@asynccontextmanager
async def streamed(client, **params):
    """The events of the stream, as an iterator of (name, data, id)."""
    headers = {"last-event-id": params.pop("last_id", "")}
    async with client.stream("GET", "/api/stream", params=params, headers=headers) as response:
        assert response.status_code == 200
        yield _events(response)


async def _events(response):
    event = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if line:
            event[name] = value
        elif "data" in event:
            yield event["event"], json.loads(event["data"]), event["id"]
            event = {}


async def until(events, is_it):
    """The data of the first event for which `is_it(name, data)` is true."""
    with anyio.fail_after(PATIENCE_S):
        async for name, data, _ in events:
            if is_it(name, data):
                return data
    raise AssertionError("The stream has ended.")
