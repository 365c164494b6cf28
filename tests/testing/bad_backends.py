"""Backends that break the law, each in one way, under the kit that has to say so."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import anyio
import pytest
import sniffio
from anyio.lowlevel import checkpoint

from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    Capability,
    Checkpointed,
    Err,
    Exchange,
    ModelPattern,
    OhmError,
    Ok,
    Options,
    Profile,
    RequestNeed,
    RunOutput,
    RunRequest,
    Sink,
    TextDelta,
    ToolCall,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)
from ohm_subagents.testing import BackendConformance, Scenarios


class Good:
    """Keeps the law: each backend below changes one thing."""

    async def run(self, request: RunRequest, sink: Sink):
        await checkpoint()
        match request.prompt:
            case "hang":
                await anyio.sleep_forever()
            case "fail":
                return await self.failed()
            case "call":
                self.call(sink)
            case "recall":
                return Ok(RunOutput(text=request.history[0].prompt))
        for tool in request.child_tools:
            await tool.execute(ToolCall(arguments=dict(self.note)))
        if request.gate is not None and not isinstance(answer := await self.asked(request, sink), Ok):
            return answer
        sink.emit(TextDelta(text=request.prompt))
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        return Ok(RunOutput(text=request.prompt))

    note = MappingProxyType({"text": "n"})

    async def failed(self):
        return Err(OhmError(code="out_of_order", message="It does not work."))

    def call(self, sink: Sink):
        for number in ("1", "2"):
            sink.emit(ToolStarted(call_id=number, tool="read", args=""))
            sink.emit(ToolEnded(call_id=number, tool="read", status="success"))

    async def asked(self, request: RunRequest, sink: Sink):
        need = RequestNeed(provider="fake", model="fake", input_tokens=1, max_output_tokens=1)
        async with request.gate.request(need) as answer:
            return answer


class Law(BackendConformance):
    Subject: type[Good] = Good
    capabilities: frozenset[Capability] = frozenset({Capability.SESSIONS, Capability.CHILD_TOOLS, Capability.USAGE})

    @pytest.fixture
    def spec(self) -> BackendSpec[Options]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Backend]:
            yield self.Subject()

        return BackendSpec(id="bad", summary="", options=Options, open=opened, capabilities=self.capabilities)

    @pytest.fixture
    def scenarios(self) -> Scenarios:
        return Scenarios(
            hangs="hang",
            fails="fail",
            calls_two_tools="call",
            recalls=("recall", "hello"),
            calls_child_tool="note",
        )


class TestGood(Law):
    pass


class TestMixesRuns(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            self.prompt = request.prompt
            await checkpoint()
            return await super().run(replace(request, prompt=self.prompt), sink)


class TestSwallowsCancellation(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            try:
                return await super().run(request, sink)
            except anyio.get_cancelled_exc_class():
                if request.prompt != "hang":
                    raise
                return Ok(RunOutput(text="never mind"))


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


class Undocumented(Law):
    @pytest.fixture
    def scenarios(self) -> Scenarios:
        return Scenarios(hangs="hang")


class TestRemembersOnlyOnPaper(Undocumented):
    capabilities = frozenset({Capability.SESSIONS})


class TestHasToolsOnlyOnPaper(Undocumented):
    capabilities = frozenset({Capability.CHILD_TOOLS})


class TestIgnoresChildTools(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            return await super().run(replace(request, spec=replace(request.spec, child_tools=())), sink)


class TestCallsChildToolsWithoutTheirArguments(Law):
    class Subject(Good):
        note = MappingProxyType({"texts": ["n"]})


class TestForgets(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            return await super().run(replace(request, history=(Exchange(prompt="?", output="?"),)), sink)


class TestRaises(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            await super().run(request, sink)
            raise ValueError("unheard of")


class TestRaisesWhereItMayFail(Law):
    class Subject(Good):
        async def failed(self):
            raise ValueError("unheard of")


class TestSucceedsInFailing(Law):
    class Subject(Good):
        async def failed(self):
            return Ok(RunOutput(text="It does not work."))


class TestFailsWithBareText(Law):
    class Subject(Good):
        async def failed(self):
            return Err("It does not work.")


class TestFailsWithoutACode(Law):
    class Subject(Good):
        async def failed(self):
            return Err(OhmError(code="", message="It does not work."))


class TestFailsWithoutAMessage(Law):
    class Subject(Good):
        async def failed(self):
            return Err(OhmError(code="out_of_order", message=""))


class TestAnswersNothing(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            done = await super().run(request, sink)
            return Ok(RunOutput(text="")) if request.prompt == "Say hello." and request.gate is None else done


class TestAnswersOtherThanItStreams(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            if request.gate is None:
                sink.emit(TextDelta(text="Something else: "))
            done = await super().run(request, sink)
            return replace_text(done, f"{request.prompt} recall hello") if isinstance(done, Ok) else done


class TestNeverReachesACheckpoint(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            if request.prompt == "Say hello." and request.gate is None and not request.child_tools:
                sink.emit(TextDelta(text=request.prompt))
                sink.emit(UsageAdded(usage=Usage(requests=1)))
                return Ok(RunOutput(text=request.prompt))
            return await super().run(request, sink)


class Calling(Good):
    calls: tuple[tuple[str, str, str], ...] = ()

    def call(self, sink: Sink):
        for step, call_id, tool in self.calls:
            event = ToolStarted(call_id=call_id, tool=tool, args="") if step == "start" else None
            sink.emit(event or ToolEnded(call_id=call_id, tool=tool, status="success"))


TWO = (("start", "1", "read"), ("end", "1", "read"), ("start", "2", "read"), ("end", "2", "read"))


class TestLeavesCallsOpen(Law):
    class Subject(Calling):
        calls = (*TWO, ("start", "3", "read"))


class TestStartsACallTwice(Law):
    class Subject(Calling):
        calls = (("start", "1", "read"), *TWO)


class TestEndsWhatItDidNotStart(Law):
    class Subject(Calling):
        calls = (*TWO, ("end", "3", "read"))


class TestEndsAnotherTool(Law):
    class Subject(Calling):
        calls = (*TWO[:3], ("end", "2", "write"))


class TestCallsOneToolOnly(Law):
    class Subject(Calling):
        calls = TWO[:2]


class Preparing(Law):
    capabilities = Law.capabilities | {Capability.PREPARES}


class TestPrepares(Preparing):
    class Subject(Good):
        async def prepare(self, profile: Profile, model: ModelPattern | None):
            await checkpoint()
            return Ok(None)


class TestGoesOnFromTheNewestCheckpoint(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            for state in ("begun", request.prompt):
                sink.emit(Checkpointed(state=state))
            if request.prompt == "recall":
                return Ok(
                    RunOutput(text=f"hello {request.history[0].prompt}" if request.checkpoint != "begun" else "?")
                )
            return await super().run(request, sink)


class TestHasOneRunASession(Law):
    class Subject(Good):
        def __init__(self):
            self.at_work = set[str]()

        async def run(self, request: RunRequest, sink: Sink):
            if request.session_id in self.at_work:
                return Err(OhmError(code="busy", message="The session is at work."))
            self.at_work.add(request.session_id)
            try:
                return await super().run(request, sink)
            finally:
                self.at_work.remove(request.session_id)


class TestSummarisesWithANumber(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            await super().run(request, sink)
            return Ok(RunOutput(text=request.prompt, summary=5))


class TestPreparesOnlyOnPaper(Preparing):
    pass


class TestPreparesNothingTheSecondTime(Preparing):
    class Subject(Good):
        is_made = False

        async def prepare(self, profile: Profile, model: ModelPattern | None):
            await checkpoint()
            done, self.is_made = self.is_made or Ok(None), True
            return done


class TestPreparesAThing(Preparing):
    class Subject(Good):
        async def prepare(self, profile: Profile, model: ModelPattern | None):
            await checkpoint()
            return Ok(5)


class TestIsBrokenByACancelledPreparation(Preparing):
    class Subject(Good):
        is_half_made = False

        async def prepare(self, profile: Profile, model: ModelPattern | None):
            if self.is_half_made:
                raise ValueError("half made")
            self.is_half_made = True
            await checkpoint()
            self.is_half_made = False
            return Ok(None)


class TestRaisesInPreparing(Preparing):
    class Subject(Good):
        async def prepare(self, profile: Profile, model: ModelPattern | None):
            await checkpoint()
            raise ValueError("unheard of")


class TestReportsNoUsage(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            return await super().run(request, Without(sink, UsageAdded))


class TestGoesOnAgainstTheGate(Law):
    class Subject(Good):
        async def asked(self, request: RunRequest, sink: Sink):
            await super().asked(request, sink)
            return Ok(None)


class TestGoesOnAndThenObeysTheGate(Law):
    class Subject(Good):
        async def asked(self, request: RunRequest, sink: Sink):
            sink.emit(UsageAdded(usage=Usage(requests=1)))
            return await super().asked(request, sink)


class TestSpeaksAndThenObeysTheGate(Law):
    class Subject(Good):
        async def asked(self, request: RunRequest, sink: Sink):
            sink.emit(TextDelta(text=request.prompt))
            return await super().asked(request, sink)


class TestObeysAnotherGate(Law):
    class Subject(Good):
        async def asked(self, request: RunRequest, sink: Sink):
            await super().asked(request, sink)
            return Err(OhmError(code="no", message="No."))


class Lingering(Good):
    """Has a task of its own that outlives its runs, and ends with it unless it is said to stay."""

    lingers_on: tuple[str, ...] = ()

    async def run(self, request: RunRequest, sink: Sink):
        try:
            return await super().run(request, sink)
        finally:
            if request.prompt in self.lingers_on:
                start_outside(self.say, sink)

    @staticmethod
    async def say(sink: Sink):
        for _ in range(20):
            await checkpoint()
        sink.emit(TextDelta(text="late"))


class TestSpeaksAfterTheReturn(Law):
    class Subject(Lingering):
        lingers_on = ("Say hello.",)


class TestSpeaksAfterItsCancellation(Law):
    class Subject(Lingering):
        lingers_on = ("hang",)


class TestLeavesTasksBehind(Law):
    class Subject(Lingering):
        lingers_on = ("Say hello.",)

        @staticmethod
        async def say(sink: Sink):
            await anyio.sleep_forever()


class TestChokesOnLargePrompts(Law):
    class Subject(Good):
        async def run(self, request: RunRequest, sink: Sink):
            if len(request.prompt) > 100_000:
                return Err(OhmError(code="too_large", message="Too large."))
            return await super().run(request, sink)


class Without:
    """A sink that keeps one kind of event to itself."""

    def __init__(self, sink: Sink, kind: type):
        self.sink, self.kind = sink, kind

    def emit(self, event):
        if not isinstance(event, self.kind):
            self.sink.emit(event)


def replace_text(done, text):
    return Ok(replace(done.ok_value, text=text))


def start_outside(function, *args):
    """A task that belongs to no task group."""
    if sniffio.current_async_library() == "trio":
        import trio

        trio.lowlevel.spawn_system_task(function, *args)
    else:
        import asyncio

        KEPT.append(asyncio.get_running_loop().create_task(function(*args)))


KEPT: list[object] = []


class Obedient(Good):
    """Awaits the gate before a call of `bash`, and makes one that is approved once."""

    async def run(self, request: RunRequest, sink: Sink):
        if request.prompt == "run":
            await self.use_bash(request)
        return await super().run(request, sink)

    async def use_bash(self, request: RunRequest):
        if await request.gate.tool("bash", {"command": "run"}) is None:
            self.run_command(request)

    def run_command(self, request: RunRequest):
        with (request.cwd / "conformance_runs").open("a") as file:
            file.write("ran\n")


class Ruled(Law):
    Subject = Obedient
    capabilities = Law.capabilities | {Capability.CALL_RULES}

    @pytest.fixture
    def scenarios(self, tmp_path: Path) -> Scenarios:
        return replace(Law.scenarios.__wrapped__(self), calls_bash="run", cwd=tmp_path)


class TestObeysTheGate(Ruled):
    pass


class TestKeepsRulesOnlyOnPaper(Law):
    capabilities = Ruled.capabilities


class TestRunsBeforeItAsks(Ruled):
    class Subject(Obedient):
        async def use_bash(self, request: RunRequest):
            self.run_command(request)
            await request.gate.tool("bash", {"command": "run"})


class TestRunsAnApprovedCallTwice(Ruled):
    class Subject(Obedient):
        def run_command(self, request: RunRequest):
            super().run_command(request)
            super().run_command(request)


class TestRunsWhatWasDenied(Ruled):
    class Subject(Obedient):
        async def use_bash(self, request: RunRequest):
            await request.gate.tool("bash", {"command": "run"})
            self.run_command(request)
