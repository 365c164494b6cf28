"""The scripted backend of the recorded cases, as a plugin."""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from golden_recording import Json

from ohm_subagents import contract
from ohm_subagents.contract import (
    Err,
    OhmError,
    Ok,
    Result,
    RouteResolved,
    RunEvent,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)
from ohm_subagents.plugin import Backend, BackendSpec, Options, RunOutput, RunRequest, Sink, hookimpl

BACKEND_ID = "test-backend"
START = {"ok": {"summary": "S:{description}", "output": "out {task_id}"}}
SEND = {"ok": {"summary": "F:{prompt}", "output": "follow {prompt}"}}


@dataclass(kw_only=True)
class Pending:
    """A deferred call: it waits until it is released with a result."""

    sink: Sink
    released: anyio.Event = field(default_factory=anyio.Event)
    result: Json = field(default_factory=dict)

    def release(self, result: Json) -> None:
        self.result = result
        self.released.set()

    def emit(self, events: Iterable[Json]) -> None:
        for event in events:
            self.sink.emit(run_event(event))


class RecordedBackend:
    """Answers each run with the next entry of its list; the last entry repeats."""

    def __init__(self, script: Json) -> None:
        self._label = script.get("resolve_backend_id", "")
        self._entries = {"start": list(script.get("start", [START])), "send": list(script.get("send", [SEND]))}
        self._running = 0
        self.calls: list[Json] = []
        self.pending: list[Pending] = []
        self.plugins: list[object] = [self]
        self.peak = 0

    def configured(self, config: Json) -> Json:
        """The configuration of a case, with this backend."""
        return {**config, "subagentBackend": BACKEND_ID}

    def in_place(self) -> AbstractContextManager[None]:
        """It is offered as a plugin; nothing else has to be done."""
        return nullcontext()

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        return (BackendSpec(id=BACKEND_ID, summary="Recorded.", label=self._label, options=Options, open=self._open),)

    @asynccontextmanager
    async def _open(self, _options: Options) -> AsyncGenerator[Backend]:
        yield self

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        kind = "send" if request.history else "start"
        self.calls.append(_call(kind, request))
        entries = self._entries[kind]
        entry = entries.pop(0) if len(entries) > 1 else entries[0]
        self._running += 1
        self.peak = max(self.peak, self._running)
        try:
            return await self._answer(entry, request, sink)
        finally:
            self._running -= 1

    async def _answer(self, entry: Json, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        await checkpoint()
        streamed = entry.get("stream", [])
        for event in streamed:
            sink.emit(run_event(event))
        if entry.get("delay_ms"):
            await anyio.sleep(entry["delay_ms"] / 1000)
        if entry.get("defer"):
            waiting = Pending(sink=sink)
            self.pending.append(waiting)
            await waiting.released.wait()
            entry = waiting.result
        return _ended(entry, request, sink, already=len(streamed))


def _ended(entry: Json, request: RunRequest, sink: Sink, *, already: int) -> Result[RunOutput, OhmError]:
    if "throw" in entry:
        raise RuntimeError(entry["throw"])
    say = _filler(request)
    if "error" in entry:
        return Err(OhmError(code=entry["error"]["code"], message=say(entry["error"]["message"])))
    answer = entry["ok"]
    for event in islice(answer.get("events", []), already, None):
        sink.emit(run_event(event))
    route = {key: answer[key] for key in ("provider", "model", "runtime", "route") if answer.get(key)}
    if route:
        sink.emit(RouteResolved(**route))
    return Ok(RunOutput(text=say(answer.get("output", "")), summary=say(answer.get("summary", ""))))


def _call(kind: str, request: RunRequest) -> Json:
    return {
        "kind": kind,
        "task_id": request.task_id,
        "subagent": request.profile.id,
        "description": request.description,
        "prompt": request.prompt,
        "cwd": str(request.cwd),
    }


def _filler(request: RunRequest) -> Callable[[str], str]:
    values = {
        "{task_id}": request.task_id,
        "{description}": request.description,
        "{prompt}": request.prompt,
        "{subagent}": request.profile.id,
    }

    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    return fill


def run_event(event: Json) -> RunEvent:
    """Our event for one of the reference's task execution events."""
    call: Any = {"call_id": event.get("toolCallId"), "tool": event.get("toolName")}
    match event["type"]:
        case "assistant_text_delta":
            return TextDelta(text=event["delta"])
        case "tool_start":
            return ToolStarted(**call, args=event.get("argsText", ""))
        case "tool_update":
            return ToolUpdated(**call, text=event.get("partialText", ""))
        case "tool_end":
            return ToolEnded(**call, status=event["status"], text=event.get("resultText", ""))
        case "task_terminal":
            return contract.AgentEnded()
        case other:
            message = f"unknown event type {other!r}"
            raise AssertionError(message)
