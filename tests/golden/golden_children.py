"""The scripted sub-agents of the suite cases: a backend that plays a script for each task name, on the loop's clock.

What a case expects of signals and of the seconds in which they come, of final texts, usage and words of errors is what
this fake makes of its script. The same rules are played on real processes in tests/backends/shell (`test_process_end`,
`test_process_signals`, `test_pi_reader`) and on a nested pi in tests/suites/single/test_on_a_nested_pi.py.
"""

import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from decimal import Decimal
from itertools import count
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from golden_recording import Json

from ohm_subagents._plugins.suites.finalization import finalize_tool
from ohm_subagents.contract import (
    AgentEnded,
    Err,
    ErrorCode,
    Event,
    OhmError,
    Ok,
    Result,
    RouteResolved,
    RunEvent,
    Task,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    Capability,
    Options,
    RunOutput,
    RunRequest,
    Sink,
    ToolCall,
    hookimpl,
)
from ohm_subagents.shell.options import ShellOptions

BACKEND_ID = "scripted-children"
NOTHING = {"exitCode": 0}
"""A child that no case wrote a script for: it says nothing and ends well."""

MUCH_LATER_S = 3600.0
CHUNK = 65_536

KEYS = frozenset(
    {"messages", "events", "final", "exitCode", "hang", "exit_at", "tool_calls_at", "spawn_error", "ignore_sigterm"}
    | {"exit_after_sigterm", "stderr", "stderr_noise", "raw_stdout_bytes"}
)


def script(content: Any) -> Json:
    """A child script in its one form; a list is its messages. A key that nobody knows is an error."""
    child: Json = {"messages": content} if isinstance(content, list) else dict(content)
    if unknown := set(child) - KEYS:
        message = f"A child script has the unknown keys {sorted(unknown)}."
        raise ValueError(message)
    final = [child.pop("final")] if "final" in child else []
    child["messages"] = [
        *child.get("messages", []),
        *_in_events(child.pop("events", [])),
        *({"role": "assistant", "content": [{"type": "text", "text": text}]} for text in final),
    ]
    return child


def _in_events(events: Iterable[Json]) -> list[Json]:
    """The messages that a stream of pi tells of; the end of a turn repeats them. An error is one that ends it all."""
    told: list[Json] = []
    for event in events:
        match event["type"]:
            case "message" | "message_end" | "turn_end":
                told += [one for one in (event["message"], *event.get("toolResults", [])) if one not in told[-8:]]
            case "result":
                told.append({"role": "assistant", "content": event["output"]})
            case "error":
                error = event.get("error", event.get("message", ""))
                named = [error] if isinstance(error, str) else [error.get("code"), error.get("message")]
                text = ": ".join(part for part in named if part)
                told.append({"role": "assistant", "content": "", "stopReason": "error", "errorMessage": text})
            case _:
                pass
    return told


class ScriptedChildren:
    """Plays `scripts` by task name, `queued` one a run, then one for `every` child; notes what it is asked and told.

    `signals` are what a process would have got, with the second since the first child began: SIGTERM when the engine
    cancels the run, SIGKILL when the engine goes on without a child that does not end. `peak` is how many ran at once.
    """

    def __init__(self, scripts: Json, queued: Iterable[Any] = ()) -> None:
        self._scripts = {name: script(content) for name, content in scripts.items()}
        self._queued = [script(content) for content in queued]
        self._default = script(NOTHING)
        self._alive: list[RunRequest] = []
        self._all_gone = anyio.Event()
        self._begun: float | None = None
        self._settled: set[str] = set()
        self._given_up: dict[str, anyio.Event] = {}
        self.ever: list[RunRequest] = []
        self.requests: list[RunRequest] = []
        self.signals: list[list[Any]] = []
        self.peak = 0

    def add(self, name: str, content: Json) -> None:
        """One more script."""
        self._scripts[name] = script(content)

    def every(self, content: Json) -> None:
        """The script of every child that has none of its own."""
        self._default = script(content)

    def forget(self) -> None:
        """Forget what was so far, and what becomes of those that still run."""
        self.requests, self.signals, self.peak, self._begun, self._alive = [], [], 0, None, []

    async def gone(self) -> None:
        """Wait for those that nobody else waits for any more."""
        if self._alive:
            with anyio.move_on_after(MUCH_LATER_S):
                await self._all_gone.wait()

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        spec = BackendSpec(
            id=BACKEND_ID,
            summary="Scripted children.",
            options=Options,
            open=self._open,
            capabilities=frozenset({Capability.AGENT_OPTIONS, Capability.FINALIZE, Capability.SESSIONS}),
        )
        return (spec,)

    @hookimpl
    def ohm_observers(self) -> Iterable["ScriptedChildren"]:
        return (self,)

    def notify(self, task: Task, event: Event) -> None:
        """The engine is done with a task, whether its child has ended or not."""
        if isinstance(event, TaskSettled):
            self._settled.add(task.id)
            if task.id in self._given_up:
                self._given_up[task.id].set()

    @asynccontextmanager
    async def _open(self, _options: Options) -> AsyncGenerator[Backend]:
        yield self

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        child = self._scripts.get(request.description)
        if child is None:
            child = self._queued.pop(0) if self._queued else self._default
        if self._begun is None:
            self._begun = anyio.current_time()
        self.ever.append(request)
        self.requests.append(request)
        self._alive.append(request)
        self.peak = max(self.peak, len(self._alive))
        try:
            return await self._play(child, request, sink)
        except anyio.get_cancelled_exc_class():
            self._signalled("SIGTERM", request)
            with anyio.CancelScope(shield=True):
                await self._end(child, request)
            raise
        finally:
            self._alive = [one for one in self._alive if one is not request]
            if not self._alive:
                self._all_gone.set()
                self._all_gone = anyio.Event()

    async def _play(self, child: Json, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        await checkpoint()
        if child.get("spawn_error"):
            return Err(OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="The command 'pi' cannot be started."))
        for event in told(child["messages"]):
            sink.emit(event)
            if request.profile.finalize and isinstance(event, ToolStarted) and event.tool == FINALIZE:
                await self._finalize(event, sink)
            await checkpoint()  # a loop stops it in the middle of what it says
        for _ in range(child.get("raw_stdout_bytes", 0) // CHUNK + 1 if "raw_stdout_bytes" in child else 0):
            sink.emit(TextDelta(text="x" * CHUNK))
            await checkpoint()
        if _is_final(child):
            sink.emit(AgentEnded())
        began = anyio.current_time()
        for number, second in enumerate(child.get("tool_calls_at", [])):
            await anyio.sleep_until(began + second)
            for event in tool_call(f"timed_{number}", "work", {"step": number}):
                sink.emit(event)
        if child.get("hang"):
            await anyio.sleep_forever()
        await anyio.sleep_until(began + child.get("exit_at", 0))
        return ended(child)

    async def _finalize(self, call: ToolStarted, sink: Sink) -> None:
        """Answer a call of the tool at once; a result in the script comes too late."""
        result = await finalize_tool(None, sink.emit).execute(ToolCall(arguments=json.loads(call.args or "{}")))
        status = "error" if result.is_error else "success"
        sink.emit(ToolEnded(call_id=call.call_id, tool=FINALIZE, status=status, text=result.text))

    async def _end(self, child: Json, request: RunRequest) -> None:
        """End a child that was asked to. Of a task that was over before, nobody waits but for the process."""
        lasts_s = MUCH_LATER_S if child.get("ignore_sigterm") else child.get("exit_after_sigterm", 0)
        if not lasts_s:
            return
        with anyio.move_on_after(lasts_s):
            if request.task_id in self._settled:
                await anyio.sleep(ShellOptions().grace_s)
            else:
                await self._given_up.setdefault(request.task_id, anyio.Event()).wait()
            self._signalled("SIGKILL", request)

    def _signalled(self, name: str, request: RunRequest) -> None:
        if self._begun is not None and any(one is request for one in self._alive):
            self.signals.append([name, round(anyio.current_time() - self._begun, 3)])


def told(messages: Iterable[Json]) -> Iterator[RunEvent]:
    """The events of messages as pi writes them. A call without a result stays open; the user's words are no event."""
    numbers = count(1)
    open_calls: dict[str, str] = {}
    for message in messages:
        parts = _parts(message.get("content", []))
        match message["role"]:
            case "assistant":
                yield from _assistant(message, parts, open_calls, numbers)
            case "toolResult":
                call_id = message.get("toolCallId") or next(iter(open_calls), f"call_{next(numbers)}")
                tool = open_calls.pop(call_id, message.get("toolName", "tool"))
                status = "error" if message.get("isError") else "success"
                text = "\n".join(part["text"] for part in parts if part["type"] == "text")
                yield ToolEnded(call_id=call_id, tool=tool, status=status, text=text)
            case _:
                pass


def _assistant(
    message: Json, parts: list[Json], open_calls: dict[str, str], numbers: Iterator[int]
) -> Iterator[RunEvent]:
    route = {key: message[key] for key in ("provider", "model") if message.get(key)}
    if route:
        yield RouteResolved(**route)
    for part in parts:
        match part["type"]:
            case "text":
                yield TextDelta(text=part["text"])
            case "thinking":
                yield ThinkingDelta(text=part["thinking"])
            case _:
                pass
    yield UsageAdded(
        usage=_usage(message.get("usage") or {})
    )  # which ends what was said, as it does with every backend
    for part in parts:
        if part["type"] == "toolCall":
            call_id = part.get("id") or f"call_{next(numbers)}"
            open_calls[call_id] = part["name"]
            yield ToolStarted(call_id=call_id, tool=part["name"], args=_compact(part.get("arguments")))


def _usage(counted: Json) -> Usage:
    cost = counted.get("cost") or 0
    read, written = counted.get("cacheRead", 0), counted.get("cacheWrite", 0)
    return Usage(
        requests=1,
        input_tokens=counted.get("input", 0) + read + written,
        output_tokens=counted.get("output", 0),
        cached_tokens=read,
        cache_write_tokens=written,
        cost_usd=Decimal(str(cost["total"] if isinstance(cost, dict) else cost)),
    )


def _is_final(child: Json) -> bool:
    """Return True if the last thing that was said is an answer."""
    spoken = [message for message in child["messages"] if message["role"] == "assistant"]
    return bool(spoken) and spoken[-1].get("stopReason", "stop") == "stop" and bool(_text(spoken[-1]))


def tool_call(call_id: str, tool: str, arguments: Json) -> Iterator[RunEvent]:
    """A tool call that ends at once."""
    yield ToolStarted(call_id=call_id, tool=tool, args=_compact(arguments))
    yield ToolEnded(call_id=call_id, tool=tool, status="success", text="")


def ended(child: Json) -> Result[RunOutput, OhmError]:
    """Return what becomes of a child that ends by itself, from its last word and its exit code."""
    spoken = [message for message in child["messages"] if message["role"] == "assistant"]
    last: Json = spoken[-1] if spoken else {}
    code, stop = child.get("exitCode", 0), last.get("stopReason")
    if code == 0 and stop not in {"error", "aborted"}:
        texts = [text for message in spoken if (text := _text(message))]
        return Ok(RunOutput(text=texts[-1] if texts else ""))
    why = ErrorCode.TASK_ABORTED if stop == "aborted" else ErrorCode.BACKEND_FAILED
    stderr = child.get("stderr") or child.get("stderr_noise") or ""
    told = last.get("errorMessage", "") or stderr.strip()
    return Err(OhmError(code=why, message=told, exit_code=code))


def _text(message: Json) -> str:
    return "\n".join(part["text"] for part in _parts(message.get("content", [])) if part["type"] == "text")


def _parts(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _compact(arguments: Any) -> str:
    return json.dumps(arguments, separators=(",", ":"), ensure_ascii=False) if arguments else ""
