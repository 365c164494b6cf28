"""Ohm, measured."""

import asyncio
import os
import sys
import tracemalloc
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory
from time import perf_counter

import anyio
from stopwatch import BATCHES, CALLS, peak, percentile_99, repeating

from ohm_subagents import Ohm, Ok
from ohm_subagents.backends.echo import EchoBackend
from ohm_subagents.contract import (
    Profile,
    TextDelta,
    ToolEnded,
    ToolPolicy,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
)
from ohm_subagents.plugin import BackendSpec, ModelSpec, Options, hookimpl
from ohm_subagents.testing import ScriptedBackend, Step

PROFILE = Profile(
    id="worker", name="Worker", summary="Works.", prompt="Do what you are asked.", tools=ToolPolicy(allowed=())
)
READER = Profile(
    id="worker",
    name="Worker",
    summary="Works.",
    prompt="Do what you are asked.",
    tools=ToolPolicy(allowed=("read", "grep", "find", "ls", "code_search")),
)
WORKER = replace(READER, tools=ToolPolicy(allowed=("read", "bash", "edit", "write", "grep", "find", "ls")))
ARGUMENTS = {"subagent_type": "worker", "description": "Work", "prompt": "Do it."}
START = {"op": "start", **ARGUMENTS}


class FakeModels:
    """Provider `fake`, whose model needs no network."""

    def __init__(self, model):
        self._model = model

    @hookimpl
    def ohm_models(self):
        return (ModelSpec(provider="fake", summary="Answers at once.", open=lambda _pattern: Ok(self._model)),)


class WaitingEcho:
    """Backend `waiting`: an echo after a short wait; the first run calls `begun`."""

    def __init__(self, delay_s, begun=None):
        self._delay_s = delay_s
        self._begun = begun
        self._echo = EchoBackend()

    async def run(self, request, sink):
        await anyio.sleep(self._delay_s)
        if self._begun is not None:
            self._begun, begun = None, self._begun
            begun()
        return await self._echo.run(request, sink)

    @asynccontextmanager
    async def _open(self, _options):
        yield self

    @hookimpl
    def ohm_backends(self):
        return (BackendSpec(id="waiting", summary="Waits, then echoes.", options=Options, open=self._open),)


@asynccontextmanager
async def opened(*, profile=PROFILE, plugins=(), store="memory", backend="none", subagents=None, env=None, **config):
    """An Ohm that reads nothing of this machine; what it stores is in a temporary directory."""
    with TemporaryDirectory(prefix="ohm-bench-") as folder:
        async with Ohm.open(
            cwd=folder,
            config={"subagentBackend": backend, "subagents": {"store": store, **(subagents or {})}, **config},
            env={"PI_CONFIG_DIR": folder, "OHM_SUBAGENTS_LOAD_PLUGINS": "none", "PATH": os.environ["PATH"]}
            | (env or {}),
            profiles=[profile],
            plugins=plugins,
        ) as ohm:
            yield ohm


@asynccontextmanager
async def on_fake_model(profile=PROFILE, *, model=None, at_once=3, **config):
    from fake_model import answering

    subagents = {"model": "fake/model", "taskMaxConcurrency": at_once}
    async with opened(
        profile=profile,
        plugins=[FakeModels(model or answering())],
        backend="interactive-sdk",
        subagents=subagents,
        **config,
    ) as ohm:
        yield ohm


async def run(ohm):
    (await ohm.run("worker", "Do it.")).unwrap()


async def start(ohm):
    result = await ohm.call("task", START)
    assert not result.is_error, result.text


@asynccontextmanager
async def call(way="run", tools=False):
    """Seconds for one subagent in process, through `Ohm.run` or the `task` tool."""
    async with on_fake_model(READER if tools else PROFILE) as ohm:
        work = partial({"run": run, "task": start}[way], ohm)
        yield repeating(work, CALLS)


@asynccontextmanager
async def turn():
    """Seconds for one turn of a pydantic-ai agent that calls the `task` tool once."""
    from fake_model import delegating
    from pydantic_ai import Agent, Tool

    async with on_fake_model() as ohm:
        task = ohm.tools["task"]

        async def delegate(**arguments):
            return (await ohm.call("task", arguments)).text

        tool = Tool.from_schema(delegate, task.name, task.description, dict(task.input_schema))
        parent = Agent(delegating("task", START), tools=[tool])

        async def work():
            assert (await parent.run("Delegate.")).output == "done"

        yield repeating(work, CALLS)


@asynccontextmanager
async def fan_out(count=100, delay_s=0.1, tools=False):
    """Seconds for one parallel batch of the `task` tool whose models all wait."""
    from fake_model import answering

    model = answering(delay_s=delay_s)
    async with on_fake_model(WORKER if tools else PROFILE, model=model, at_once=count) as ohm:
        batch = {"op": "start", "parallel": True, "tasks": [ARGUMENTS] * count}

        async def work():
            result = await ohm.call("task", batch)
            assert not result.is_error, result.text

        yield repeating(work, BATCHES)


@asynccontextmanager
async def cancel(way="tool", store="memory", count=100):
    """Seconds until the 99th of 100 running tasks is cancelled, all at once, each by a call of its own."""
    from fake_model import Held

    held = Held(count)
    async with on_fake_model(model=held.model(), at_once=count, store=store) as ohm:

        async def one(handle):
            if way == "tool":
                result = await ohm.call("task", {"op": "cancel", "id": handle.id})
                assert result.details["cancel_applied"], result.text
            else:
                await handle.cancel()
            answered = perf_counter()
            assert ohm.task(handle.id).status == "cancelled"
            return answered

        async def repeat():
            held.begin()
            handles = [await ohm.start("worker", "Do it.") for _ in range(count)]
            await held.all_asked.wait()
            begun = perf_counter()
            answered = await asyncio.gather(*map(one, handles))
            await held.all_gone.wait()
            return percentile_99(answered) - begun

        yield repeat


@asynccontextmanager
async def echo_start(store="memory", kept=1, way="task"):
    """Seconds for one echo task, while `kept` settled ones are kept; the newest always pushes the oldest out.

    With a store on disk the time until everything is safe there is counted in.
    """
    async with opened(store=store, taskMaxEntries=kept) as ohm:
        work = partial({"run": run, "task": start}[way], ohm)
        for _ in range(kept):
            await work()
        await ohm._engine.store.flush()
        if store != "memory" and not any(ohm.inspect().place.cwd.iterdir()):
            nothing = f"store {store!r} keeps nothing on disk"
            raise RuntimeError(nothing)
        yield repeating(work, 200, after=ohm._engine.store.flush)


def words(count):
    return tuple(TextDelta(text=f"{n:>19} ") for n in range(count))


def work_of(count):
    """Seven words and one tool call, over and over; never the same call, which the loop guard would stop."""
    events = []
    for n in range(count // 10):
        events += words(7)
        events += [
            ToolStarted(call_id=f"c{n}", tool="read", args=f'{{"path": "src/module_{n}.py"}}'),
            ToolUpdated(call_id=f"c{n}", tool="read", text="half"),
            ToolEnded(call_id=f"c{n}", tool="read", status="success", text=f"whole of module {n}"),
        ]
    return tuple(events)


@asynccontextmanager
async def stream(count, mixed=False, watched=False):
    """Seconds for one event of a run that streams `count` of them; `watched`: with progress frames."""
    step = Step(events=work_of(count) if mixed else words(count), text="done")
    scripted = ScriptedBackend(default=step)
    runs = max(1, 20_000 // count)
    on_update = (lambda _frame: None) if watched else None
    async with opened(plugins=[scripted], backend=scripted.id) as ohm:

        async def work():
            result = await ohm.call("task", START, on_update=on_update)
            assert not result.is_error, result.text

        yield repeating(work, runs, parts=count)


@asynccontextmanager
async def charges(above, count=2_000):
    """Seconds for one model request that is reported of a task with so many tasks above it."""
    waiting = (Step(gate=anyio.Event()) for _ in range(above))
    asked = Step(events=(UsageAdded(usage=Usage(requests=1)),) * count, text="done")
    scripted = ScriptedBackend(*waiting, default=asked)
    budget = {"budget": {"depth": above + 1, "spawns": 1_000_000}}
    async with opened(plugins=[scripted], backend=scripted.id, subagents=budget) as ohm:
        parent = {}
        for _ in range(above):
            parent = {"parent": (await ohm.start("worker", "Do it.", **parent)).id}
        await anyio.sleep(0.1)  # until they run

        async def work():
            (await ohm.run("worker", "Do it.", **parent)).unwrap()

        yield repeating(work, 5, parts=count)


@asynccontextmanager
async def model_stream(count):
    """Seconds for one piece of text that a model streams through the in-process backend."""
    from fake_model import answering

    async with on_fake_model(model=answering(pieces=[f"{n:>19} " for n in range(count)])) as ohm:
        yield repeating(partial(run, ohm), parts=count)


@asynccontextmanager
async def queue(way="batch", count=1000, at_once=16):
    """Peak bytes for one of `count` echo tasks, of which `at_once` run at a time; traced, so only Python's own."""
    settings = {"taskMaxConcurrency": at_once, "maxRunning": at_once, "asyncStart": "allow"}
    waiting = WaitingEcho(0.001)
    arguments = {"op": "start", "parallel": True, "tasks": [ARGUMENTS] * count}

    async def work():
        async with opened(plugins=[waiting], backend="waiting", subagents=settings) as ohm:
            await start(ohm)
            with peak() as traced:
                if way == "batch":
                    result = await ohm.call("task", arguments)
                    assert not result.is_error, result.text
                else:
                    for handle in [await ohm.start("worker", "Do it.") for _ in range(count)]:
                        await handle.wait()
        return traced.bytes / count

    yield work


async def explain_queue(count=1000, at_once=16):
    """Print which lines hold the memory while a batch waits, once the first run has begun."""
    seen = []
    waiting = WaitingEcho(0.001, begun=lambda: seen.append(tracemalloc.take_snapshot()))
    arguments = {"op": "start", "parallel": True, "tasks": [ARGUMENTS] * count}
    async with opened(plugins=[waiting], backend="waiting", subagents={"taskMaxConcurrency": at_once}) as ohm:
        tracemalloc.start()
        await ohm.call("task", arguments)
        tracemalloc.stop()
    for held in seen[0].statistics("lineno")[:30]:
        sys.stdout.write(f"{held.size / count:>8.0f} bytes a task  {held.traceback}\n")
