"""A backend whose runs are in a process of its own, which goes on when the process of the `Ohm` is killed.

`python counting_runner.py <directory>` is that process: each run counts up to the number that is its prompt, one report
a number, whoever listens. `CountingBackend` is the backend; `counting_submitter.py` is a program that uses it.
"""

import json
import socketserver
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ohm_subagents.contract import Err, OhmError, Ok, TextDelta
from ohm_subagents.plugin import BackendSpec, Capability, Options, RunOutput, hookimpl

PAUSE_S = 0.002


class Run:
    """A run that counts, whoever listens."""

    def __init__(self, number):
        self.number = number
        self.reports = []
        self.changed = threading.Condition()
        self.is_cancelled = threading.Event()
        threading.Thread(target=self.count, daemon=True).start()

    def count(self):
        for n in range(1, self.number + 1):
            if self.is_cancelled.wait(PAUSE_S):
                break
            self.report({"n": n, "text": f"{n} "})
        self.report({"n": len(self.reports) + 1, "end": "".join(one["text"] for one in self.reports)})

    def report(self, report):
        with self.changed:
            self.reports.append(report)
            self.changed.notify_all()

    def follow(self, since):
        while True:
            with self.changed:
                while len(self.reports) <= since:
                    self.changed.wait()
                new = self.reports[since:]
            yield new
            since += len(new)
            if "end" in new[-1]:
                return


class Handler(socketserver.StreamRequestHandler):
    """Answers one question: begin, attach or cancel."""

    def handle(self):
        asked, runs = json.loads(self.rfile.readline()), self.server.runs
        with self.server.turn:
            if asked["op"] == "begin" and asked["key"] not in runs:
                runs[asked["key"]] = Run(asked["number"])
                with (self.server.directory / "begun").open("a") as file:
                    file.write(asked["key"] + "\n")
        run = runs.get(asked["key"])
        if run is None:
            self.tell([{"lost": asked["key"]}])
        elif asked["op"] == "cancel":
            run.is_cancelled.set()
        else:
            for reports in run.follow(asked["since"]):
                self.tell(reports)

    def tell(self, reports):
        self.wfile.write(json.dumps(reports).encode() + b"\n")


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, directory):
        self.directory, self.runs, self.turn = directory, {}, threading.Lock()
        super().__init__(f"{directory / 'runner'}", Handler)

    def handle_error(self, request, client_address):
        """Somebody who was killed is no error."""


class CountingBackend:
    """The backend `counting`, of the runner of a directory."""

    def __init__(self, directory):
        self.place = f"{directory / 'runner'}"
        self.attached = []

    async def run(self, request, sink):
        asked = {"op": "begin", "number": int(request.prompt), "since": 0}
        return await self.followed(asked, request, sink)

    async def attach(self, request, sink):
        self.attached.append((request.feed.key, request.feed.position))
        return await self.followed({"op": "attach", "since": request.feed.position}, request, sink)

    async def followed(self, asked, request, sink):
        feed = request.feed
        try:
            async with await self.asked({**asked, "key": feed.key}) as lines:
                async for reports in lines:
                    if "lost" in reports[0]:
                        return Err(OhmError(code="runner_lost", message="The run is gone.", retryable=True))
                    said = [TextDelta(text=one["text"]) for one in reports if "text" in one]
                    feed.record(sink, said, position=reports[-1]["n"])
                    if "end" in reports[-1]:
                        return Ok(RunOutput(text=reports[-1]["end"]))
        except anyio.get_cancelled_exc_class():
            if not feed.is_left:
                with anyio.CancelScope(shield=True):
                    async with await self.asked({"op": "cancel", "key": feed.key}):
                        pass
            raise
        return Err(OhmError(code="runner_lost", message="The runner is gone.", retryable=True))

    async def asked(self, question):
        stream = await anyio.connect_unix(self.place)
        await stream.send(json.dumps(question).encode() + b"\n")
        return Lines(stream)

    @hookimpl
    def ohm_backends(self):
        @asynccontextmanager
        async def opened(_options):
            yield self

        does = frozenset({Capability.ATTACHES})
        return (BackendSpec(id="counting", summary="", options=Options, open=opened, capabilities=does),)


class Lines:
    """The lines of a stream, as JSON."""

    def __init__(self, stream):
        self.stream = stream

    async def __aenter__(self):
        return self.lines()

    async def __aexit__(self, *_exc):
        await self.stream.aclose()

    async def lines(self):
        rest = b""
        async for data in self.stream:
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield json.loads(line)


if __name__ == "__main__":
    with Server(Path(sys.argv[1])) as server:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        server.serve_forever()
