"""The backend `relayed`: what is run at a runner of a cluster is played by the program of the test, over a socket.

In a cluster it is installed at the runners. The program has the runs played by whatever `Relay.backend` is meanwhile.
"""

import json
from contextlib import asynccontextmanager

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from ohm_subagents.plugin import BackendSpec, Capability, Options, hookimpl
from ohm_subagents.remote import Runner, UndeliveredError, open_remote

MOST = 2**26


class RelayOptions(Options):
    path: str


class SocketTransport:
    """The far end of a `Relay`."""

    def __init__(self, path):
        self._path = path

    async def hello(self):
        return await self._call("hello")

    async def post(self, frame):
        return await self._call("post", frame)

    async def feed(self, frame):
        return await self._call("feed", frame)

    async def _call(self, *question):
        try:
            async with await anyio.connect_unix(self._path) as stream:
                await stream.send(json.dumps([*question]).encode() + b"\n")
                return json.loads(await BufferedByteReceiveStream(stream).receive_until(b"\n", MOST))
        except (OSError, anyio.BrokenResourceError, anyio.IncompleteRead, anyio.EndOfStream) as error:
            raise UndeliveredError from error


class Relay:
    """Plays runs with its `backend`, and counts them by the ids of their tasks."""

    def __init__(self, counted):
        self.backend = None
        self._counted = counted

    async def run(self, request, sink):
        self._counted[request.task_id] += 1
        return await self.backend.run(request, sink)

    async def serve(self, path, *, task_status):
        async with anyio.create_task_group() as group:
            runner = Runner(self, group)

            async def answer(stream):
                async with stream:
                    name, *frames = json.loads(await BufferedByteReceiveStream(stream).receive_until(b"\n", MOST))
                    reply = await getattr(runner, name)(*frames)
                    await stream.send(json.dumps(reply).encode() + b"\n")

            async with await anyio.create_unix_listener(path, mode=0o600) as listener:
                task_status.started()
                await listener.serve(answer)


@hookimpl
def ohm_backends():
    @asynccontextmanager
    async def opened(options):
        async with open_remote(SocketTransport(options.path)) as backend:
            yield backend

    does = frozenset({Capability.AGENT_OPTIONS, Capability.FINALIZE, Capability.SESSIONS})
    yield BackendSpec(id="relayed", summary="", options=RelayOptions, open=opened, capabilities=does)
