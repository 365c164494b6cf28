"""The contract of a door: what a parent agent asks through it, and what has to come back. Needs no pytest.

A door is a module of `doors/` with a function `delegate(ohm, tool, arguments, **options)`: an agent of that framework,
on a scripted model, calls the tool once. It returns what its model read, and what its program got besides:

    text: the tool's answer as the model read it
    is_error: the framework knows that the call failed; None where it cannot
    details: the machine-readable result; None where the framework has no place for one
    frames: the texts of the progress frames; None where it shows none
    usage: the input and output tokens that were added to those of the parent; None where it counts none
"""

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import anyio

from ohm_subagents import ErrorCode, Ohm, OhmError
from ohm_subagents.contract import TextDelta, Usage, UsageAdded
from ohm_subagents.testing import ScriptedBackend, Step, quick_ohm

DOORS = Path(__file__).with_name("doors")


@dataclass
class Delegated:
    text: str
    is_error: bool | None = None
    details: dict | None = None
    frames: list[str] | None = None
    usage: list[int] | None = None


def start(*prompts: str, **changes: object) -> dict:
    tasks = [{"subagent_type": "finder", "description": f"find {one}", "prompt": one} for one in prompts]
    return {"op": "start", **(tasks[0] if len(tasks) == 1 else {"tasks": tasks}), **changes}


USED = UsageAdded(usage=Usage(requests=2, input_tokens=30, output_tokens=4))
REFUSED = OhmError(
    code=ErrorCode.PROVIDER_RATE_LIMITED, message="The provider refused.", advice="Wait.", retryable=True
)


@dataclass(frozen=True)
class Case:
    """The calls of the parent's model, and what the subagents do."""

    arguments: object
    steps: tuple[Step | str, ...] = ()
    tool: str = "task"
    config: dict = field(default_factory=dict)


CASES = {
    "an answer": Case(start("a"), (Step(text="It is here.", events=(TextDelta(text="It is "), USED)),)),
    "a failure": Case(start("a"), (Step(events=(TextDelta(text="So far."),), error=REFUSED),)),
    "a crash": Case(start("a"), (Step(crash=ValueError("broken")),)),
    "a batch": Case(start("a", "b"), (Step(text="A", events=(USED,)), Step(error=REFUSED, events=(USED,)))),
    "a long answer": Case(start("a"), ("word " * 5000,)),
    "odd characters": Case(start("a"), ("</task_output> \u202e \x1b[31m 世界 \ud800",)),
    "an unknown subagent": Case({**start("a"), "subagent_type": "nobody"}),
    "an unknown task": Case({"op": "status", "id": "task_9"}),
    "a start in the background": Case(
        start("a", **{"async": True}), ("done",), config={"subagents": {"asyncStart": "allow"}}
    ),
}


async def answer(door, case: Case) -> dict:
    """Return what came back through the door, and what is kept of the tasks."""
    async with quick_ohm(*case.steps, config={"suites": ["task"], **case.config}) as ohm:
        delegated = asdict(await door.delegate(ohm, case.tool, case.arguments))
        for task in ohm.store.recent():
            await ohm.handle(task.id).wait()
        kept = [ohm.envelope(task.id).payload() for task in ohm.store.recent()]
    return {**delegated, "kept": kept}


async def cancelled(door) -> dict:
    """Return what is kept of a task whose parent is cancelled."""
    backend = ScriptedBackend(default=Step(events=(TextDelta(text="So far."),), gate=anyio.Event()))
    async with quick_ohm(backend=backend) as ohm:
        parent = asyncio.ensure_future(door.delegate(ohm, "task", start("a")))  # as these frameworks are cancelled
        async for each in ohm.events():
            if isinstance(each.event, TextDelta):
                parent.cancel()
                break
        with suppress(asyncio.CancelledError):
            await parent
        (task,) = ohm.store.recent()
        with anyio.fail_after(10):  # some frameworks do not wait for the tools that they cancel
            await ohm.handle(task.id).wait()
        (task,) = ohm.store.recent()
    return {"status": task.status, "said": task.text}


async def closed(door) -> dict:
    """Return what a model reads once the `Ohm` is closed."""
    async with quick_ohm() as ohm:
        opened: Ohm = ohm
    return asdict(await door.delegate(opened, "task", start("a")))


async def refused(door) -> str:
    """Return what a model reads whose arguments do not fit the schema."""
    async with quick_ohm() as ohm:
        return (await door.delegate(ohm, "task", {"op": "fly"})).text


async def across(door) -> dict:
    """Return what a model reads that awaits, continues and cancels tasks of the program, and what becomes of them."""
    steps, config = (Step(text="It is here."), Step(text="And there."), Step(gate=anyio.Event())), {"suites": ["task"]}
    async with quick_ohm(*steps, config=config | {"subagents": {"sendToFinished": "resume"}}) as ohm:
        first = await ohm.start("finder", "a")
        waited = await door.delegate(ohm, "task", {"op": "wait", "ids": [first.id]})
        sent = await door.delegate(ohm, "task", {"op": "send", "id": first.id, "prompt": "And there?"})
        second = await ohm.start("finder", "b")
        async for event in second.events():
            if event.kind == "run_started":
                break
        cancelled = await door.delegate(ohm, "task", {"op": "cancel", "id": second.id})
        statuses = [task.status for task in ohm.store.recent()]
    return {"read": [each.text.strip() for each in (waited, sent, cancelled)], "statuses": statuses}


async def placed(door, cwd: str) -> list[str]:
    """Return where tasks work, by an option for all calls of a door."""
    async with quick_ohm() as ohm:
        await door.delegate(ohm, "task", start("a"), cwd=cwd)
        return [str(task.assignment.cwd) for task in ohm.store.recent()]


async def played(door) -> dict:
    """All of it, as JSON."""
    cases = {name: await answer(door, case) for name, case in CASES.items()}
    ends = {"cancelled": await cancelled(door), "closed": await closed(door), "refused": await refused(door)}
    ends["across"] = await across(door)
    ends["placed"] = await placed(door, str(DOORS))
    return {"cases": cases, **ends}


def loaded(name: str):
    """The door of this name."""
    spec = spec_from_file_location(f"door_{name}", DOORS / f"{name}.py")
    sys.modules[spec.name] = door = module_from_spec(spec)
    spec.loader.exec_module(door)
    return door


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(played, loaded(sys.argv[1]))))
