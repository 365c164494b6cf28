"""A place with one sticky agent, and an `Ohm` there whose agents do what a function says."""

from contextlib import asynccontextmanager

import anyio.lowlevel
from acting import ActingBackend

from ohm_subagents import Ohm
from ohm_subagents.contract import Checkpointed, ToolEnded, ToolStarted
from ohm_subagents.plugin import ToolCall
from ohm_subagents.testing import HERMETIC

FINALIZE = "subagent_finalize"
SCOUT = "---\nname: scout\ndescription: Looks.\napproved_tools: [read, bash]\n---\nYou look.\n"
ID = "550e8400-e29b-41d4-a716-446655440000"
ASK = {"agent": "scout", "task": "Find auth"}


async def hand_in(request, sink, **arguments):
    tool = next(one for one in request.child_tools if one.name == FINALIZE)
    sink.emit(ToolStarted(call_id="1", tool=FINALIZE))
    result = await tool.execute(ToolCall(arguments=arguments))
    sink.emit(ToolEnded(call_id="1", tool=FINALIZE, status="error" if result.is_error else "success", text=result.text))


async def found(request, sink):
    """Hands in an answer; the conversation is all the prompts."""
    await anyio.lowlevel.checkpoint()
    await hand_in(request, sink, status="SUCCESS", result=f"Found for {request.prompt}")
    sink.emit(Checkpointed(state=f"{request.checkpoint or ''}{request.prompt};"))
    return "bye"


def made(place):
    """The place, with its agent."""
    (place / "work" / "prompts").mkdir(parents=True)
    (place / "work" / "prompts" / "scout.md").write_text(SCOUT)
    return place


def opener(place):
    """Yield what opens an `Ohm` there; `ohm.acting` has the requests to its agents."""

    @asynccontextmanager
    async def opened(act=found, *, options=None, env=None, cwd="work", config=None, capabilities=None, **named):
        acting = ActingBackend(act) if capabilities is None else ActingBackend(act, capabilities=capabilities)
        async with Ohm.open(
            cwd=place / cwd,
            env=HERMETIC | {"HOME": str(place)} | (env or {}),
            config={"subagentBackend": "acting", "suiteOptions": {"sticky": options or {}}} | (config or {}),
            suites=["sticky"],
            trust=True,
            plugins=[acting],
            **named,
        ) as ohm:
            ohm.acting = acting
            yield ohm

    return opened


def files(place):
    """The sessions that are kept."""
    return sorted((place / ".pi" / "subagent-sessions").glob("*/*.jsonl"))
