"""A backend whose subagent runs the commands of its prompt, a line each, and waits for its gate before each one."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents.plugin import (
    BackendSpec,
    CallRules,
    Capability,
    Ok,
    Options,
    Profile,
    RunOutput,
    ToolEnded,
    ToolPolicy,
    ToolStarted,
    hookimpl,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents.plugin import Backend, RunRequest, Sink

RULES = (CallRules(ask=("git push *",), source="ohm.json:3"),)
PUSHER = Profile(
    id="pusher",
    name="Pusher",
    summary="Pushes.",
    prompt="You push.",
    tools=ToolPolicy(allowed=("bash",), call_rules=RULES),
)
PUSH = "git push origin main"


class AskingAgent:
    """Pass it in `Ohm.open(plugins=[...])`; `ran` are the commands that were run."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def run(self, request: RunRequest, sink: Sink) -> Ok[RunOutput]:
        told: list[str] = []
        for number, command in enumerate(request.prompt.splitlines()):
            call = {"call_id": f"c{number}", "tool": "bash"}
            sink.emit(ToolStarted(**call, args=json.dumps({"command": command})))
            refusal = await request.gate.tool("bash", {"command": command}, call_id=call["call_id"])
            if refusal is None:
                self.ran.append(command)
            sink.emit(ToolEnded(**call, status="error" if refusal else "success", text=refusal or "done"))
            told.append(refusal or f"{command}: done")
        return Ok(RunOutput(text="\n".join(told)))

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Backend]:
            yield self

        return [
            BackendSpec(
                id="asking",
                summary="Asks.",
                options=Options,
                open=opened,
                capabilities=frozenset({Capability.CALL_RULES}),
            )
        ]
