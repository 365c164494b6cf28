"""The child tools of one run, called from outside of it and carried out in it."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.plugin import ToolEnded, ToolResult, ToolStarted, call_child_tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from anyio.abc import TaskGroup

    from ohm_subagents.contract import ToolStatus
    from ohm_subagents.plugin import Gate, JsonObject, Sink
    from ohm_subagents.suite import Tool

_MAX_NAME: Final = 48
"""Agents put the name of the server before the name of a tool, and providers take 64 characters at most."""
_OVER: Final = ToolResult(text="The run has ended: its tools cannot be called any more.", details={}, is_error=True)
_LEFT: Final = "The agent did not wait for the result."


@dataclass(slots=True, kw_only=True, eq=False)
class _Call:
    """A call that waits for its result."""

    tool: Tool
    arguments: JsonObject
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    done: anyio.Event = field(default_factory=anyio.Event)
    result: ToolResult = _OVER


class Offer:
    """The tools of one run."""

    def __init__(self, tools: Sequence[Tool], sink: Sink, numbers: Iterator[int], gate: Gate | None = None) -> None:
        """`numbers`: those of calls, for ids that no other run has. `gate`: asked before each call."""
        self.tools: Mapping[str, Tool] = {_listed_name(tool.name): tool for tool in tools}
        self.listed = anyio.Event()
        self._sink = sink
        self._numbers = numbers
        self._gate = gate
        self.begun = 0
        self._open: set[_Call] = set()
        self._calls, self._called = anyio.create_memory_object_stream[_Call](float("inf"))

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Carry out calls in this task until this is left; calls that go on then are cancelled."""
        raised: Exception | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._carry_out_all, group)
                try:
                    yield
                except Exception as error:  # noqa: BLE001  raised below, as itself and not in a group
                    raised = error
                finally:
                    self._calls.close()
                    group.cancel_scope.cancel()
        finally:
            self._called.close()
            for call in self._open:
                call.done.set()
        if raised is not None:
            raise raised

    async def call(self, tool: Tool, arguments: JsonObject, left: anyio.Event) -> ToolResult:
        """Have a call carried out, and wait for its result; `left` says that nobody wants it any more."""
        call = _Call(tool=tool, arguments=arguments)
        try:
            self._calls.send_nowait(call)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return _OVER
        self._open.add(call)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_cancel_after, left, call.scope)
                await call.done.wait()
                group.cancel_scope.cancel()
        finally:
            self._open.discard(call)
            call.scope.cancel()
        return call.result

    async def _carry_out_all(self, group: TaskGroup) -> None:
        """Start the calls from a task of the run, so that they have its context, with the span and the caller in it."""
        async for call in self._called:
            group.start_soon(self._carry_out, call)

    async def _carry_out(self, call: _Call) -> None:
        self.begun += 1
        call_id, name = f"ohm_{next(self._numbers)}", call.tool.name
        args = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
        self._sink.emit(ToolStarted(call_id=call_id, tool=name, args=args))
        status: ToolStatus = "interrupted"
        with call.scope:
            call.result = await self._result(call, call_id)
            status = "error" if call.result.is_error else "success"
        text = _LEFT if status == "interrupted" else call.result.text
        self._sink.emit(ToolEnded(call_id=call_id, tool=name, status=status, text=text))
        call.done.set()

    async def _result(self, call: _Call, call_id: str) -> ToolResult:
        refusal = None
        if self._gate is not None:
            refusal = await self._gate.tool(call.tool.name, call.arguments, call_id=call_id)
        if refusal is not None:
            return ToolResult(text=refusal, details={}, is_error=True)
        return await call_child_tool(call.tool, call.arguments, call_id=call_id, sink=self._sink)


async def _cancel_after(left: anyio.Event, scope: anyio.CancelScope) -> None:
    await left.wait()
    scope.cancel()


def _listed_name(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 9]}_{sha256(name.encode()).hexdigest()[:8]}"
