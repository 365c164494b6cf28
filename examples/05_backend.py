"""Write a backend, and test it with the conformance kit: `pytest examples/05_backend.py`."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio
import pytest

from ohm_subagents import Ohm
from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    Err,
    OhmError,
    Ok,
    Options,
    Result,
    RunOutput,
    RunRequest,
    Sink,
    TextDelta,
    hookimpl,
)
from ohm_subagents.testing import BackendConformance


class ShoutBackend:
    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        await anyio.lowlevel.checkpoint()
        sink.emit(TextDelta(text=request.prompt.upper()))
        return Ok(RunOutput(text=request.prompt.upper()))


@asynccontextmanager
async def open_shout(_options: Options) -> AsyncGenerator[Backend]:
    yield ShoutBackend()


SHOUT = BackendSpec(id="shout", summary="Answers in capitals.", options=Options, open=open_shout)


class ShoutPlugin:
    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        return (SHOUT,)


class TestShout(BackendConformance):
    @pytest.fixture
    def spec(self) -> BackendSpec[Options]:
        return SHOUT


async def main() -> None:
    async with Ohm.open(config={"subagentBackend": "shout"}, plugins=[ShoutPlugin()]) as ohm:
        match await ohm.run("finder", "hello"):
            case Ok(envelope):
                print(envelope.output)
            case Err(error):
                print(error)


if __name__ == "__main__":
    anyio.run(main)

# Prints:
# HELLO
