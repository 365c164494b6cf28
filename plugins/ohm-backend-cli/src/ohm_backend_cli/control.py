"""The control protocol of Claude Code, by which it asks us before each call of a tool and waits for the answer."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ohm_backend_cli.shapes import object_of
from ohm_subagents.plugin import Err
from ohm_subagents.shell import (
    command_environment,
    converse,
    locate_command,
    new_invocation,
    records,
    start_run,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from ohm_subagents.plugin import JsonObject, OhmError, Result, RunOutput, RunRequest, Sink
    from ohm_subagents.shell import Child, Dialect, ShellOptions, Supervisor

_BEGIN: Final = "ohm-begin"
_CALLBACK: Final = "ohm-gate"
LONGEST_WAIT_S: Final = 14 * 24 * 60 * 60
"""The time that it waits for an answer: the request decides when it expires. At more than 2^31 ms it would not wait."""
_SHELL, _WRITING = "Bash", frozenset({"Edit", "Write"})
ARGUMENTS: Final = ("--input-format", "stream-json")
"""The arguments that let it read our side of the protocol."""


def is_asking(request: RunRequest) -> bool:
    """Return True if calls of tools have rules, so that each has to be asked for."""
    return bool(request.call_rules) and request.gate is not None


class Control:
    """Our side of the protocol, for one process."""

    def __init__(self, child: Child, request: RunRequest, prompt: str, names: Callable[[str], Sequence[str]]) -> None:
        """`names`: our names for a tool of its own, none for a tool that is judged elsewhere."""
        self._child = child
        self._gate = request.gate
        self._cwd = request.cwd
        self._prompt = prompt
        self._names = names
        self._asked: dict[str, anyio.CancelScope] = {}

    async def begin(self) -> None:
        """Tell it to ask; it gets its prompt once it has said that it will."""
        hook: JsonObject = {"hookCallbackIds": [_CALLBACK], "timeout": LONGEST_WAIT_S}
        request: JsonObject = {"subtype": "initialize", "hooks": {"PreToolUse": [hook]}}
        await self._say({"type": "control_request", "request_id": _BEGIN, "request": request})

    async def hear(self, line: bytes, answers: TaskGroup) -> None:
        """Take a line of its output; what it asks is answered while others are read."""
        record = records(line) if b'"control_' in line or b'"result"' in line else None
        match record:
            case {"type": "control_response", "response": {"subtype": "success"}}:
                await self._say({"type": "user", "message": {"role": "user", "content": self._prompt}})
            case {"type": "control_response"}:  # it will not ask, so it gets no prompt
                self._child.end_input()
            case {"type": "control_request", "request_id": str(request_id), "request": dict(asked)}:
                answers.start_soon(self._answer, request_id, asked)
            case {"type": "control_cancel_request", "request_id": str(request_id)} if request_id in self._asked:
                self._asked[request_id].cancel()
            case {"type": "result"}:
                self._child.end_input()
            case _:
                pass

    async def _answer(self, request_id: str, asked: JsonObject) -> None:
        call = object_of(asked.get("input"))
        tool, arguments = call.get("tool_name"), object_of(call.get("tool_input"))
        if asked.get("subtype") != "hook_callback" or not isinstance(tool, str):
            error: JsonObject = {"subtype": "error", "request_id": request_id, "error": "Nothing else can be asked."}
            await self._say({"type": "control_response", "response": error})
            return
        with anyio.CancelScope() as self._asked[request_id]:  # it may ask no more, as when its turn is over
            refusal = await self._refusal(tool, arguments, f"{call.get('tool_use_id')}")
            answer: JsonObject = {}
            if refusal is not None:
                answer = _decision({"permissionDecision": "deny", "permissionDecisionReason": refusal})
            elif self._needs_leave(tool, arguments):
                answer = _decision({"permissionDecision": "allow"})
            response: JsonObject = {"subtype": "success", "request_id": request_id, "response": answer}
            await self._say({"type": "control_response", "response": response})
        del self._asked[request_id]

    async def _refusal(self, tool: str, arguments: JsonObject, call_id: str) -> str | None:
        gate = self._gate
        if gate is None:
            return None
        if tool == _SHELL:  # its model describes a command in other words each time; an approval is of the command
            arguments = {name: value for name, value in arguments.items() if name != "description"}
        for name in self._names(tool):
            refusal = await gate.tool(name, arguments, call_id=call_id)
            if refusal is not None:
                return refusal
        return None

    def _needs_leave(self, tool: str, arguments: JsonObject) -> bool:
        """Return True for a command, and a file below the directory; its own permissions decide about all else."""
        path = arguments.get("file_path")
        is_here = isinstance(path, str) and (self._cwd / path).resolve().is_relative_to(self._cwd.resolve())
        return tool == _SHELL or (tool in _WRITING and is_here)

    async def _say(self, message: Mapping[str, object]) -> None:
        await self._child.write(json.dumps(message).encode() + b"\n")


def _decision(decision: JsonObject) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


class AskingBackend:
    """Runs a prompt in a process that asks the gate of the run before each call of a tool."""

    def __init__(
        self, dialect: Dialect, options: ShellOptions, supervisor: Supervisor, names: Callable[[str], Sequence[str]]
    ) -> None:
        """`names` as those of `Control`."""
        self._dialect = dialect
        self._options = options
        self._supervisor = supervisor
        self._names = names

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Start the command, answer what it asks, and say what became of it."""
        dialect, options = self._dialect, self._options
        env = command_environment(options, request.env)
        command = locate_command(options.command or dialect.command, env, backend=dialect.id, install=dialect.install)
        if isinstance(command, Err):
            return command
        invocation = new_invocation(request, self._supervisor)
        reader = dialect.reader(invocation)
        prompt = dialect.prompt(invocation)
        started = await start_run(self._supervisor, dialect, command.ok_value, invocation, options, is_open=True)
        if isinstance(started, Err):
            return started
        control = Control(started.ok_value, request, prompt, partial(self._given, request))
        ended: list[Result[RunOutput, OhmError]] = []
        async with anyio.create_task_group() as answers:
            await control.begin()
            look = partial(control.hear, answers=answers)
            ended.append(await converse(started.ok_value, reader, sink, grace_s=options.grace_s, look=look))
            answers.cancel_scope.cancel()
        return ended[0]

    def _given(self, request: RunRequest, tool: str) -> Sequence[str]:
        """Return our names for a tool of the agent: of several, those of the tools that the run was given."""
        names = self._names(tool)
        return [name for name in names if name in request.tools] or names
