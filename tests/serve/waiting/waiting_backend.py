"""Backends of tests: one whose runs say `working` and wait until the test of this process tells their answer, and those
that the test offers itself."""

from contextlib import asynccontextmanager

import anyio

from ohm_subagents.contract import Ok, TextDelta
from ohm_subagents.plugin import BackendSpec, Options, RunOutput, hookimpl


class Waiting:
    """The runs that wait, oldest first."""

    def __init__(self):
        self.runs = []
        self.news = anyio.Event()

    async def told(self):
        run = [anyio.Event(), ""]
        self.runs.append(run)
        self.news.set()
        try:
            await run[0].wait()
        finally:
            if run in self.runs:
                self.runs.remove(run)
        return run[1]

    async def tell(self, answer):
        while not self.runs:
            self.news = anyio.Event()
            await self.news.wait()
        run = self.runs.pop(0)
        run[1] = answer
        run[0].set()


waiting = Waiting()
offered = []
"""Backends of the test, which would be plugins of its `Ohm` if that owned its tasks."""


class WaitingBackend:
    async def run(self, request, sink):
        sink.emit(TextDelta(text="working"))
        told = await waiting.told()
        sink.emit(TextDelta(text=f" {told}"))
        return Ok(RunOutput(text=f"{told} to {request.prompt}"))


@asynccontextmanager
async def opened(_options):
    yield WaitingBackend()


@hookimpl
def ohm_backends():
    yield BackendSpec(id="waiting", summary="Waits.", options=Options, open=opened)
    for backend in offered:
        yield from backend.ohm_backends()
