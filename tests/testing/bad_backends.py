"""Backends that break the law, each in one way, under the kit that has to say so."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.lowlevel import checkpoint

from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    Capability,
    Ok,
    Options,
    RunOutput,
    RunRequest,
    Sink,
)
from ohm_subagents.testing import BackendConformance, Scenarios


class Good:
    """Keeps the law: each backend below changes one thing."""

    async def run(self, request: RunRequest, sink: Sink):
        await checkpoint()
        if request.prompt == "hang":
            await anyio.sleep_forever()
        return Ok(RunOutput(text=request.prompt))


class Law(BackendConformance):
    Subject: type[Good] = Good
    capabilities: frozenset[Capability] = frozenset()

    @pytest.fixture
    def spec(self) -> BackendSpec[Options]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Backend]:
            yield self.Subject()

        return BackendSpec(id="bad", summary="", options=Options, open=opened, capabilities=self.capabilities)

    @pytest.fixture
    def scenarios(self) -> Scenarios:
        return Scenarios(hangs="hang")


class TestGood(Law):
    pass


class TestMixesRuns(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            self.prompt = request.prompt
            if self.prompt == "hang":
                await anyio.sleep_forever()
            await checkpoint()
            return Ok(RunOutput(text=self.prompt))


class TestSwallowsCancellation(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            await checkpoint()
            if request.prompt == "hang":
                try:
                    await anyio.sleep_forever()
                except anyio.get_cancelled_exc_class():
                    return Ok(RunOutput(text="never mind"))
            return Ok(RunOutput(text=request.prompt))


class TestAnswersANumber(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            await super().run(request, sink)
            return Ok(RunOutput(text=5))


class TestReturnsBareText(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            await super().run(request, sink)
            return request.prompt


class TestEmitsJunk(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            sink.emit("junk")
            return await super().run(request, sink)


class TestRemembersOnlyOnPaper(Law):
    capabilities = frozenset({Capability.SESSIONS})


class TestHasToolsOnlyOnPaper(Law):
    capabilities = frozenset({Capability.CHILD_TOOLS})


class TestIgnoresChildTools(Law):
    capabilities = frozenset({Capability.CHILD_TOOLS})

    @pytest.fixture
    def scenarios(self) -> Scenarios:
        return Scenarios(hangs="hang", calls_child_tool="note")
