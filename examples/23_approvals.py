"""A subagent asks: a callback approves its calls, once or always, denies them, and answers its question."""

import tempfile
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio

from ohm_subagents import Answer, Approve, Deny, Err, Ohm, Ok, Request, Text
from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    Capability,
    OhmError,
    Options,
    Result,
    RunOutput,
    RunRequest,
    Sink,
    ToolCall,
    hookimpl,
)

RULES = {"tools": {"allow": ["bash", "ask_parent"], "ask": ["bash: git push *"]}}
CONFIG = {"subagentBackend": "pusher", "subagents": {"task": RULES}}


class Pusher:
    """Stands in for a model: pushes to the branch of its prompt; without one, it asks which."""

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        branch = request.prompt
        if branch == "?":
            [ask_parent] = (tool for tool in request.child_tools if tool.name == "ask_parent")
            asked = ToolCall(arguments={"question": "Which branch?", "options": ["main", "next"]})
            branch = (await ask_parent.execute(asked)).text
        command = f"git push origin {branch}"
        refusal = None if request.gate is None else await request.gate.tool("bash", {"command": command})
        return Ok(RunOutput(text=refusal or f"pushed to {branch}"))

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Backend]:
            yield self

        rules = frozenset({Capability.CALL_RULES, Capability.CHILD_TOOLS})
        return (BackendSpec(id="pusher", summary="", open=opened, options=Options, capabilities=rules),)


async def decide(request: Request) -> Answer:
    print("asked:", request.question or request.arguments)
    if request.kind == "question":
        return Text("next")
    if "main" in request.arguments:
        return Deny("main is protected")
    return Approve("always" if "next" in request.arguments else "call")


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with Ohm.open(config=CONFIG, env={"HOME": home}, plugins=[Pusher()], approvals=decide) as ohm:
            for prompt in ("fix", "main", "?", "next"):
                match await ohm.run("task", prompt):
                    case Ok(envelope):
                        print(envelope.output)
                    case Err(error):
                        print(error)


anyio.run(main)

# Prints:
# asked: {"command":"git push origin fix"}
# pushed to fix
# asked: {"command":"git push origin main"}
# The call of 'bash' was not made, because it was denied: main is protected. Do it in another way that is allowed, or say what you could not do.
# asked: Which branch?
# asked: {"command":"git push origin next"}
# pushed to next
# pushed to next
