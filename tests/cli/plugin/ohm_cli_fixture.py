"""A backend for the tests of the command line: the prompt says what happens, two FIFOs say when."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio import to_thread

from ohm_subagents.plugin import (
    BackendSpec,
    Capability,
    Checkpointed,
    Diagnostic,
    DiagnosticRaised,
    Err,
    ErrorCode,
    OhmError,
    Ok,
    Options,
    RunOutput,
    TextDelta,
    ToolEnded,
    ToolStarted,
    hookimpl,
)
from ohm_subagents.store import MemoryStore, StoreSpec, task_from_json, task_to_json
from ohm_subagents.suite import ToolCall

BIG = "größer 大 " * 60_000
REACHED, RELEASED = "OHM_TEST_REACHED", "OHM_TEST_RELEASED"


class Stage:
    async def run(self, request, sink):  # noqa: C901  an arm a prompt is the point
        if request.prompt.startswith("repeat "):
            return repeated(request.prompt.removeprefix("repeat "), sink)
        sink.emit(ToolStarted(call_id="1", tool="read", args='{"path":"src/app.py"}'))
        sink.emit(ToolEnded(call_id="1", tool="read", status="success", text="12 lines"))
        sink.emit(TextDelta(text="So far: app.py"))
        match request.prompt:
            case "answer":
                sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="m", message="Thinking is not honoured.")))
            case "fail":
                return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke.", advice="Repair it."))
            case "fail for now":
                limited = OhmError(code=ErrorCode.BACKEND_FAILED, message="It is full for now.", retryable=True)
                return Err(limited)
            case "long failure":
                message = "It broke " + "and broke " * 40 + "down."
                return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message=message, advice="Repair it."))
            case "three paragraphs, then fail":
                sink.emit(TextDelta(text="\n\nMore: b.py\n\nLast: c.py"))
                return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke."))
            case "wide":
                return Ok(RunOutput(text=" ".join(["beautiful"] * 12)))
            case "remember":
                sink.emit(Checkpointed(state="the conversation"))
            case "big":
                return Ok(RunOutput(text=BIG))
            case "escape":
                sink.emit(ToolStarted(call_id="2", tool="read", args="\x1b[2J\x07"))
                return Ok(RunOutput(text="\x1b]0;owned\x07\x1b[2Jred\x07"))
            case "pause":
                await to_thread.run_sync(signal_reached, "paused")
                await to_thread.run_sync(wait_released, abandon_on_cancel=True)
            case "hang":
                await hang()
            case "stay":
                await anyio.sleep_forever()
            case "end slowly":
                await end_slowly()
            case "ask":
                return Ok(RunOutput(text=await questioned(request)))
            case "push" | "push five times":
                times = 5 if "five" in request.prompt else 1
                return Ok(RunOutput(text="\n".join([await pushed(request) for _ in range(times)])))
            case prompt if prompt.startswith("You were interrupted"):
                return Ok(RunOutput(text="\n".join([await pushed(request), await pushed(request)])))
        return Ok(RunOutput(text="line one\n  line two"))


def repeated(text, sink):
    """The text, in everything that a task can say."""
    sink.emit(TextDelta(text=text))
    sink.emit(ToolStarted(call_id="2", tool=f"read{text}", args=f'{{"path": "{text}"}}'))
    sink.emit(ToolEnded(call_id="2", tool="read", status="error", text=text))
    sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="m", message=text)))
    if "fail" in text:
        return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message=text, advice=text))
    return Ok(RunOutput(text=text))


async def pushed(request) -> str:
    refusal = await request.gate.tool("bash", {"command": "git push"}, call_id="2")
    return refusal or "It is pushed."


async def questioned(request) -> str:
    """Ask three questions, the first two with options; return what a model would read."""
    tool = next(one for one in request.child_tools if one.name == "ask_parent")
    asked = {"question": "Which branch?", "options": ["main", "dev"]}
    told = [await tool.execute(ToolCall(arguments=one)) for one in (asked, asked, {"question": "May I?"})]
    return " / ".join(one.text for one in told)


async def hang() -> None:
    """Until cancelled, with a child process that only a proper cancellation ends."""
    process = await anyio.open_process(["sleep", "1000"])
    try:
        await to_thread.run_sync(signal_reached, str(process.pid))
        await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            process.kill()
            await process.aclose()


async def end_slowly() -> None:
    """Until cancelled, and then until it is let go."""
    await to_thread.run_sync(signal_reached, "at work")
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(signal_reached, "ending")
            await to_thread.run_sync(wait_released)


def signal_reached(text: str) -> None:
    Path(os.environ[REACHED]).write_text(text, encoding="utf-8")


def wait_released() -> None:
    Path(os.environ[RELEASED]).read_text(encoding="utf-8")


class TheatreOptions(Options):
    rows: int


@asynccontextmanager
async def open_stage(_options):
    yield Stage()


@hookimpl
def ohm_backends():
    return [
        BackendSpec(
            id="stage",
            summary="Plays a scene.",
            options=Options,
            open=open_stage,
            capabilities=frozenset({Capability.CALL_RULES}),
        ),
        BackendSpec(id="theatre", summary="Plays in a house.", options=TheatreOptions, open=open_stage),
    ]


class Shelf(MemoryStore):
    """A file a task, through the door for stores only."""

    def __init__(self, request):
        super().__init__(request.clock, request.policy)
        self._folder = request.directory / "shelf"
        found = sorted(self._folder.glob("*.json"))
        self.restore([task_from_json(json.loads(file.read_bytes())).unwrap() for file in found], {})

    @property
    def place(self):
        return str(self._folder)

    def save(self, task, event):
        super().save(task, event)
        self._folder.mkdir(exist_ok=True)
        (self._folder / f"{task.id}.json").write_bytes(task_to_json(task))


@asynccontextmanager
async def open_shelf(request):
    yield Shelf(request)


@hookimpl
def ohm_stores():
    yield StoreSpec(id="shelf", summary="A file a task.", open=open_shelf)
