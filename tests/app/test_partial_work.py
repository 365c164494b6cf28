"""Whatever stops a run, on whichever backend: its envelope has what was done, and says what stopped it.

Each way to stop is a row. On `acting` a function plays the backend; on `interactive-sdk` a real HTTP model server on
loopback plays the model. Both write a file in their first turn, say something, and then it happens.
"""

import json
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from acting import ActingBackend
from advancing_loop import advance
from another_process import another_process
from model_server import Call, ModelServer, Say, Stall, Status, Tokens

from ohm_subagents import Budget, ErrorCode, Limits, Ohm, OhmError
from ohm_subagents.contract import FileChanged, TextDelta, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.plugin import Err, ModelSpec, Ok, RequestNeed, hookimpl
from ohm_subagents.testing import HERMETIC, EventLog

pytestmark = pytest.mark.anyio

WORDS = "The first half."
NOTES = {"path": "notes.txt", "content": "half of it\n"}
READ = {"path": "notes.txt"}
TOKENS = Tokens(prompt=3000, completion=20, cached=0)


@pytest.fixture
def anyio_backend(moved_time):
    return moved_time


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to stop a run, the code that tells it, and the guard that did it. `then`: what the run does meanwhile.

    `passes_s`: how much time passes once it does that.
    """

    then: str = "stalls"
    passes_s: float = 0
    code: str | None
    guard: str | None = None
    limits: Limits | None = None
    budget: Budget | None = None
    cancels: bool = False
    config: dict = field(default_factory=dict)


WAYS = {
    "idle": Way(code=ErrorCode.BACKEND_TIMEOUT, guard="idle", passes_s=60, limits=Limits(idle_ms=60_000)),
    "tool": Way(
        then="hangs in a tool",
        code=ErrorCode.BACKEND_TIMEOUT,
        guard="tool",
        passes_s=60,
        limits=Limits(tool_ms=60_000),
    ),
    "soft": Way(code=ErrorCode.BACKEND_TIMEOUT, guard="soft", passes_s=60, limits=Limits(soft_ms=60_000)),
    "cap": Way(code=ErrorCode.BACKEND_TIMEOUT, guard="cap", passes_s=60, limits=Limits(cap_ms=60_000)),
    "cancel": Way(code=None, cancels=True),
    "loop": Way(then="goes in circles", code=ErrorCode.LOOP_DETECTED, guard="loop"),
    "requests": Way(
        then="goes in circles", code=ErrorCode.BUDGET_EXCEEDED, guard="requests", budget=Budget(requests=2)
    ),
    "tokens": Way(then="goes in circles", code=ErrorCode.BUDGET_EXCEEDED, guard="tokens", budget=Budget(tokens=9000)),
    "tool calls": Way(
        then="goes in circles", code=ErrorCode.BUDGET_EXCEEDED, guard="tool_calls", budget=Budget(tool_calls=2)
    ),
    "wall": Way(code=ErrorCode.BUDGET_EXCEEDED, guard="wall", passes_s=60, budget=Budget(wall_ms=60_000)),
    "raise": Way(then="raises", code=ErrorCode.BACKEND_FAILED),
    "provider error": Way(then="fails", code=ErrorCode.PROVIDER_UNAVAILABLE),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))


class Acting:
    """The row, played by a function."""

    def __init__(self, way: Way) -> None:
        self.way = way

    async def act(self, request, sink):
        await self.turn(request, sink, ToolStarted(call_id="0", tool="write", args="{}"), TextDelta(text=WORDS))
        await self.call(sink, 0, "write", "Wrote it.")
        sink.emit(FileChanged(path="notes.txt"))
        match self.way.then:
            case "raises":
                raise RuntimeError("a bug")
            case "fails":
                return Err(OhmError(code=ErrorCode.PROVIDER_UNAVAILABLE, message="It is down."))
            case "hangs in a tool":
                await self.turn(request, sink, ToolStarted(call_id="1", tool="bash", args="sleep 60"))
            case "goes in circles":
                return await self.circles(request, sink)
        return await anyio.sleep_forever()

    async def circles(self, request, sink):
        for number in range(1, 20):
            started = ToolStarted(call_id=f"{number}", tool="read", args="{}")
            refused = await self.turn(request, sink, started)
            if refused is not None:
                return refused
            await self.call(sink, number, "read", "half of it")
        return "never"

    async def turn(self, request, sink, *events):
        need = RequestNeed(provider="acme", input_tokens=100, max_output_tokens=100)
        async with request.gate.request(need) as leave:
            if isinstance(leave, Err):
                return leave
            for event in events:
                sink.emit(event)
            sink.emit(UsageAdded(usage=Usage(requests=1, input_tokens=3000, output_tokens=20)))
        return None

    async def call(self, sink, number, tool, text):
        await anyio.lowlevel.checkpoint()
        sink.emit(ToolEnded(call_id=f"{number}", tool=tool, status="success", text=text))


def served(way: Way):
    """The row, played by a model."""

    def script(asked):
        if not asked.tool_results:
            return Say(WORDS, Call("write", NOTES))
        match way.then:
            case "hangs in a tool":
                return Say(Call("bash", {"command": "sleep 60"}))
            case "goes in circles":
                return Say(Call("read", READ), tokens=TOKENS)
            case "fails":
                return Status(500)
            case _:
                return Stall()

    return script


class Buggy:
    """A provider plugin with a bug: its second request raises what no provider should."""

    def __init__(self, url: str) -> None:
        self.url = url

    @hookimpl
    def ohm_models(self):
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.models.wrapper import WrapperModel
        from pydantic_ai.providers.openai import OpenAIProvider

        class Breaking(WrapperModel):
            asked = 0

            def request_stream(self, *arguments, **keywords):
                self.asked += 1
                if self.asked > 1:
                    raise RuntimeError("a bug")
                return super().request_stream(*arguments, **keywords)

        def opened(pattern):
            return Ok(Breaking(OpenAIChatModel(pattern.model, provider=OpenAIProvider(base_url=self.url, api_key="k"))))

        return [ModelSpec(provider="breaking", summary="Breaks.", open=opened)]


async def stopped(way: Way, *, cwd: Path, config, plugins):
    """The outcome of a run that the way stops, its envelope, and the answer of a run that continues it."""
    log = EventLog()
    config = {**config, "subagents": {"sendToFinished": "resume", "requestRetries": 0, **config.get("subagents", {})}}
    async with Ohm.open(cwd=cwd, env=HERMETIC, config=config, plugins=plugins) as ohm:
        outcomes = []

        async def run():
            outcomes.append(await ohm.run("task", "Do it.", limits=way.limits, budget=way.budget, observer=log))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            if way.cancels or way.passes_s:
                doing = {"hangs in a tool": "bash"}.get(way.then)
                await log.until(lambda task, event: is_at_it(doing, task, event))
            if way.cancels:
                await ohm.call("task", {"op": "cancel", "id": log.entries[0][0].id})
            advance(way.passes_s)
        error = outcomes[0].err_value
        return error, ohm.envelope(error.task_id).payload()


def is_at_it(tool, task, event):
    """Return True if it has begun this tool, or made its first call where there is none."""
    if tool is None:
        return task.activity.usage.tool_calls == 1 and not task.activity.open_calls
    return isinstance(event, ToolStarted) and event.tool == tool


def check(way: Way, error, envelope) -> None:
    """Check what every way keeps."""
    assert error.code == (way.code or ErrorCode.TASK_ABORTED)
    assert envelope["status"] == ("cancelled" if way.cancels else "failed")
    assert envelope.get("error_code") == way.code
    assert envelope.get("stopped_by") == way.guard
    assert envelope["last_progress_at_epoch_ms"] > 0
    assert envelope["assistant_text"].startswith(WORDS)
    assert [row[:7] for row in envelope["tool_rows"][:2]] == ["○ write", "✓ write"]
    assert envelope["tool_rows"][-1][0] in "✓✕", "no call is left open"
    assert envelope["files"] == ["notes.txt"]
    assert envelope["usage"]["requests"] >= 1
    assert envelope["usage"]["input_tokens"] >= 100
    assert envelope["session_id"]


@every_way
async def test_a_scripted_backend_keeps_its_partial_work(way, tmp_path):
    config = {"subagentBackend": "acting"}
    check(way, *await stopped(way, cwd=tmp_path, config=config, plugins=[ActingBackend(Acting(way).act)]))


@pytest.mark.sample(4)
@every_way
async def test_a_real_model_over_http_keeps_its_partial_work(way, tmp_path):
    async with ModelServer(served(way)) as server:
        breaks = way.then == "raises"
        config = {
            "providers": {"acme": {"baseUrl": server.url, "models": ["m"]}},
            "subagents": {"model": "breaking/m" if breaks else "acme/m"},
        }
        plugins = [Buggy(server.url)] if breaks else []
        error, envelope = await stopped(way, cwd=tmp_path, config=config, plugins=plugins)

    check(way, error, envelope)
    assert (tmp_path / "notes.txt").read_text() == NOTES["content"]


async def test_a_terminated_host_leaves_the_partial_work_of_a_scripted_backend(tmp_path):
    with another_process(tmp_path) as (task_id, process):
        process.send_signal(signal.SIGTERM)
        process.wait()
    env = HERMETIC | {"PI_CONFIG_DIR": str(tmp_path), "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(env=env, config={"subagentBackend": "none"}) as ohm:
        envelope = ohm.envelope(task_id)

    assert (envelope.status, envelope.error_code) == ("failed", ErrorCode.REHYDRATED_INCOMPLETE)
    assert (envelope.assistant_text, envelope.tool_rows) == ("so far", ["○ read a.py", "✕ read interrupted"])
    assert envelope.session_id


@pytest.mark.slow
async def test_a_terminated_ohm_run_tells_and_keeps_the_partial_work_of_a_real_model(tmp_path):
    for name in ("config", "project"):
        (tmp_path / name).mkdir()
    async with ModelServer(served(WAYS["idle"])) as server:
        config = {"providers": {"acme": {"baseUrl": server.url, "models": ["m"]}}, "subagents": {"model": "acme/m"}}
        (tmp_path / "config" / "ohm.json").write_text(json.dumps(config))
        env = HERMETIC | {"PI_CONFIG_DIR": str(tmp_path / "config"), "OHM_SUBAGENTS_STORE": "sqlite"}
        command = [str(Path(sys.executable).with_name("ohm")), "run", "task", "Do it.", "--json"]
        process = await anyio.open_process(command, cwd=tmp_path / "project", env=env, stderr=None)
        async with process:
            await server.until(lambda seen: len(seen.requests) == 2)
            process.send_signal(signal.SIGTERM)
            told = json.loads(b"".join([piece async for piece in process.stdout]))
            await process.wait()
    async with Ohm.open(env=env, config={"subagentBackend": "none"}) as ohm:
        kept = ohm.envelope(told["task_id"]).payload()

    assert process.returncode == 143
    for envelope in (told, kept):
        assert (envelope["status"], envelope["assistant_text"], envelope["files"]) == (
            "cancelled",
            WORDS,
            ["notes.txt"],
        )
        assert envelope["usage"]["requests"] == 2, "the one that was cut off among them"
        assert envelope["session_id"]
