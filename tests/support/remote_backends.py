"""Backends at a runner in the same process, behind a transport that tests may break."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from decimal import Decimal

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    Capability,
    Checkpointed,
    Err,
    OhmError,
    Ok,
    Options,
    RequestNeed,
    RunOutput,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
    call_child_tool,
    hookimpl,
)
from ohm_subagents.remote import (
    LoopbackTransport,
    Patience,
    RunnerLostError,
    Transport,
    open_remote,
    open_runner,
    remote_capabilities,
)
from ohm_subagents.testing import Scenarios

HASTY = Patience(retry_s=0)


def behind(spec, wrap=lambda transport: transport, *, patience=HASTY, clones=None, **runner_options):
    """Return the spec of a backend that runs at a runner; `wrap` may put something between both."""

    @asynccontextmanager
    async def opened(options: Options) -> AsyncGenerator[Backend]:
        async with (
            open_runner(spec, options, **runner_options) as runner,
            open_remote(wrap(LoopbackTransport(runner)), patience=patience, clones=clones) as remote,
        ):
            yield remote

    return replace(spec, open=opened, capabilities=remote_capabilities(spec.capabilities))


class Remotely:
    """A plugin that offers the backend of another one behind a transport."""

    def __init__(self, plugin, wrap=lambda transport: transport, **options):
        (spec,) = plugin.ohm_backends()
        self.spec = behind(spec, wrap, **options)

    @hookimpl
    def ohm_backends(self):
        return [self.spec]


class Mortal:
    """A transport whose runner is gone once `killed` is set."""

    def __init__(self, transport: Transport) -> None:
        self._runner = transport
        self.killed = anyio.Event()

    async def hello(self):
        return await self._runner.hello()

    async def post(self, frame):
        return await self._runner.post(frame)

    async def feed(self, frame):
        answer = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._die, group.cancel_scope)
            answer = await self._runner.feed(frame)
            group.cancel_scope.cancel()
        if answer is None:
            raise RunnerLostError("It was killed.")
        return answer

    async def _die(self, scope):
        await self.killed.wait()
        scope.cancel()


class Restarting(LoopbackTransport):
    """A transport to a runner that another one takes the place of by `restart`."""

    def __init__(self, transport: Transport) -> None:
        self._use(transport)

    def _use(self, runner):
        super().__init__(runner)
        self._changed = anyio.Event()

    def restart(self, runner):
        """Let all calls go to this runner, those that wait for an answer too."""
        changed = self._changed
        self._use(runner)
        changed.set()

    async def feed(self, frame):
        answer = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._leave, self._changed, group.cancel_scope)
            answer = await super().feed(frame)
            group.cancel_scope.cancel()
        return await super().feed(frame) if answer is None else answer

    async def _leave(self, changed, scope):
        await changed.wait()
        scope.cancel()


class Recital:
    """A backend that can do everything that a backend can, by its prompt."""

    async def run(self, request, sink):
        async with request.gate.request(NEED) if request.gate else nullcontext(Ok(None)) as granted:
            if isinstance(granted, Err):
                return granted
            await checkpoint()
            sink.emit(UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.25"))))
        match request.prompt.split()[0]:
            case "hang":
                sink.emit(TextDelta(text="I hang"))
                await anyio.sleep_forever()
            case "fail":
                return Err(OhmError(code="recital_failed", message="I was told to."))
            case "tools":
                for call_id in ("1", "2"):
                    sink.emit(ToolStarted(call_id=call_id, tool="ls"))
                    await checkpoint()
                    sink.emit(ToolEnded(call_id=call_id, tool="ls", status="success", text="a.py"))
            case "note":
                (tool,) = request.child_tools
                sink.emit(ToolStarted(call_id="1", tool=tool.name))
                result = await call_child_tool(tool, {"text": "seen"}, call_id="1", sink=sink)
                sink.emit(ToolEnded(call_id="1", tool=tool.name, status="success", text=result.text))
            case "run" if await request.gate.tool("bash", {"command": "echo ran"}, call_id="1") is None:
                with (request.cwd / "conformance_runs").open("a") as file:
                    file.write("ran\n")
            case "recall":
                return Ok(RunOutput(text=f"You said: {request.history[0].prompt}, at {request.checkpoint}"))
            case _:
                pass
        for piece in ("It is done: ", request.prompt):
            sink.emit(TextDelta(text=piece))
            await checkpoint()
        sink.emit(Checkpointed(state="the end"))
        return Ok(RunOutput(text=f"It is done: {request.prompt}", summary="Done.", exit_code=0))


@asynccontextmanager
async def _recital(_options):
    yield Recital()


NEED = RequestNeed(provider="acme", model="m1", price=lambda tokens_in, tokens_out: Decimal(tokens_in + tokens_out))
RECITAL = BackendSpec(
    id="recital",
    summary="Does what its prompt says.",
    options=Options,
    open=_recital,
    capabilities=frozenset(
        {Capability.SESSIONS, Capability.CHILD_TOOLS, Capability.CALL_RULES, Capability.USAGE, Capability.AGENT_OPTIONS}
    ),
)


def recital_scenarios(cwd):
    return Scenarios(
        says="say elderberry",
        hangs="hang",
        fails="fail",
        calls_two_tools="tools",
        recalls=("recall", "elderberry"),
        calls_child_tool="note",
        calls_bash="run",
        cwd=cwd,
    )
