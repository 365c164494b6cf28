"""A runner in a process of its own, at a port of this machine, whose runs count; and the backend in front of it.

`python socket_runner.py <directory>` is the runner: each run counts up to the number that is its prompt, and asks for a
model request before every hundredth number. `python socket_runner.py <directory> <number>` is a program that starts
such a task, says its id and waits for it; it may be killed.
"""

import json
import sys
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

from ohm_subagents import Ohm
from ohm_subagents.contract import Err, Ok, TextDelta, Usage, UsageAdded
from ohm_subagents.plugin import BackendSpec, Capability, Options, RequestNeed, RunOutput, hookimpl
from ohm_subagents.remote import Patience, UndeliveredError, open_remote, open_runner, remote_capabilities

PAUSE_S = 0.001
MOST = 2**24


class Counter:
    async def run(self, request, sink):
        for number in range(1, int(request.prompt) + 1):
            if number % 100 == 0:
                async with request.gate.request(RequestNeed(provider="acme")) as granted:
                    if isinstance(granted, Err):
                        return granted
                    sink.emit(UsageAdded(usage=Usage(requests=1)))
            sink.emit(TextDelta(text=f"{number} "))
            await anyio.sleep(PAUSE_S)
        with (request.cwd / "ended").open("a") as file:
            file.write(f"{request.task_id}\n")
        return Ok(RunOutput(text="counted"))


@asynccontextmanager
async def counting(_options):
    yield Counter()


SPEC = BackendSpec(
    id="counter", summary="", options=Options, open=counting, capabilities=frozenset({Capability.IN_PROCESS})
)


async def serve(directory):
    async with open_runner(SPEC, Options()) as runner:
        calls = {"post": runner.post, "feed": runner.feed}

        async def answer(stream):
            try:
                async with stream:
                    name, frame = json.loads(await BufferedByteReceiveStream(stream).receive_until(b"\n", MOST))
                    reply = await (runner.hello() if name == "hello" else calls[name](frame))
                    await stream.send(json.dumps(reply).encode() + b"\n")
            except (anyio.BrokenResourceError, anyio.IncompleteRead, anyio.EndOfStream):
                pass  # somebody who was killed

        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            port = listener.extra(SocketAttribute.local_port)
            (directory / "runner").write_text(f"{port}")
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await listener.serve(answer)


class SocketTransport:
    def __init__(self, path):
        self.path = path

    async def hello(self):
        return await self.call("hello", None)

    async def post(self, frame):
        return await self.call("post", frame)

    async def feed(self, frame):
        return await self.call("feed", frame)

    async def call(self, *question):
        try:
            async with await anyio.connect_tcp("127.0.0.1", int(self.path.read_text())) as stream:
                await stream.send(json.dumps([*question]).encode() + b"\n")
                return json.loads(await BufferedByteReceiveStream(stream).receive_until(b"\n", MOST))
        except (OSError, anyio.BrokenResourceError, anyio.IncompleteRead, anyio.EndOfStream) as error:
            raise UndeliveredError from error


class AtSocket:
    """A plugin with the backend of the runner of a directory."""

    def __init__(self, directory):
        self.directory = directory

    @hookimpl
    def ohm_backends(self):
        @asynccontextmanager
        async def opened(_options):
            patience = Patience(retry_s=0.01, lost_s=0.5)
            async with open_remote(SocketTransport(self.directory / "runner"), patience=patience) as backend:
                yield backend

        does = remote_capabilities(SPEC.capabilities)
        return [BackendSpec(id="counter", summary="", options=Options, open=opened, capabilities=does)]


def opened(directory, **settings):
    """An `Ohm` whose runs count at the runner, and whose tasks are kept in the directory."""
    config = {"subagentBackend": "counter", "subagents": {"store": "sqlite", **settings}}
    env = {"PI_CONFIG_DIR": str(directory), "HOME": str(directory), "OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
    return Ohm.open(cwd=directory, env=env, config=config, plugins=[AtSocket(directory)])


async def submit(directory, number):
    async with opened(directory) as ohm:
        handle = await ohm.start("task", number)
        async for _ in handle.events():
            if ohm.task(handle.id).text:
                break
        await ohm.store.flush()
        sys.stdout.write(f"{handle.id}\n")
        sys.stdout.flush()
        await handle.wait()
        await anyio.sleep_forever()


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    anyio.run(partial(submit, Path(place), *numbers) if numbers else partial(serve, Path(place)))
