"""The backend `told`, which does what its prompt says. In a cluster it is installed at the runners, as anybody's is."""

import time
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import anyio

from ohm_subagents.plugin import (
    BackendSpec,
    Capability,
    Checkpointed,
    Err,
    Ok,
    Options,
    RequestNeed,
    RunOutput,
    TextDelta,
    Usage,
    UsageAdded,
    call_child_tool,
    hookimpl,
)

PAUSE_S = 0.005
EACH = {"work": 20, "greed": 1}
"""The numbers that such a run says between one model request and the next."""
REQUESTS = "OHM_RAY_REQUESTS"
"""The variable with the directory in which the requests of each task are counted."""


class TellOptions(Options):
    greeting: str = "Done"


async def counted(word, most, request, sink):
    """Count on from the checkpoint, or tell the time in nanoseconds as often."""
    for number in range(int(request.checkpoint or 0) + 1, most + 1):
        sink.emit(TextDelta(text=f"{number if word == 'count' else time.monotonic_ns()} "))
        sink.emit(Checkpointed(state=f"{number}"))
        await anyio.sleep(PAUSE_S)


async def worked(word, most, request, sink):
    """Count on from the checkpoint with model requests in between; return the error of one that is refused."""
    for number in range(int(request.checkpoint or 0) + 1, most + 1):
        if number % EACH[word] == 1 % EACH[word]:
            async with request.gate.request(RequestNeed(provider="acme")) as granted:
                if isinstance(granted, Err):
                    return granted
                with (Path(request.env[REQUESTS]) / request.task_id).open("ab", 0) as counted:
                    counted.write(b".")
                await anyio.sleep(PAUSE_S)
                sink.emit(UsageAdded(usage=Usage(requests=1)))
        sink.emit(TextDelta(text=f"{number} "))
        sink.emit(Checkpointed(state=f"{number}"))
        await anyio.sleep(PAUSE_S)
    return None


async def spent(most, request, sink):
    """Make as many model requests; return the error of one that is refused."""
    for number in range(most):
        async with request.gate.request(RequestNeed(provider="acme")) as granted:
            if isinstance(granted, Err):
                return granted
            sink.emit(TextDelta(text=f"{number} "))
    return None


class Told:
    def __init__(self, greeting):
        self._greeting = greeting

    async def run(self, request, sink):
        prompt = request.prompt.rpartition("\n\n")[2]  # after a notice of what is left of its budget
        word, *rest = prompt.split()
        match word:
            case "count" | "clock":
                await counted(word, int(rest[0]), request, sink)
            case "work" | "greed":
                refused = await worked(word, int(rest[0]), request, sink)
                if refused is not None:
                    return refused
            case "hang":
                sink.emit(TextDelta(text="I hang"))
                await anyio.sleep_forever()
            case "edit":
                (request.cwd / rest[0]).write_text(f"edited in {request.cwd.name}\n")
            case "key":  # only who knows it can tell that it is there
                return Ok(RunOutput(text=sha256(request.env.get(rest[0], "").encode()).hexdigest()))
            case "spend":
                refused = await spent(int(rest[0]), request, sink)
                if refused is not None:
                    return refused
            case "note":
                (tool,) = request.child_tools
                sink.emit(TextDelta(text=(await call_child_tool(tool, {"text": "seen"}, call_id="1", sink=sink)).text))
            case _:
                pass
        return Ok(RunOutput(text=f"{self._greeting}: {prompt}"))


@asynccontextmanager
async def _open(options):
    yield Told(options.greeting)


TOLD = BackendSpec(
    id="told",
    summary="Does what its prompt says.",
    options=TellOptions,
    open=_open,
    capabilities=frozenset({Capability.SESSIONS, Capability.CHILD_TOOLS, Capability.AGENT_OPTIONS, Capability.USAGE}),
)


@hookimpl
def ohm_backends():
    yield TOLD
