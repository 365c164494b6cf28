"""The order of runs: first come, first served, under caps; a place in line is visible; a slot is free at once."""

import anyio
import pytest
from acting import ActingBackend

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

ITEM = {"subagent_type": "finder", "description": "d", "prompt": "p"}


class Stage:
    """Runs wait until they are let go; says which are on."""

    def __init__(self):
        self.on = []
        self.peak = 0
        self.begun = []
        self._gates = {}

    async def act(self, request, sink):
        name = request.prompt
        self.begun.append(name)
        self.on.append(name)
        self.peak = max(self.peak, len(self.on))
        gate = self._gates[name] = anyio.Event()
        try:
            await gate.wait()
        finally:
            self.on.remove(name)
        return name

    def let(self, *names):
        for name in names:
            self._gates[name].set()


@pytest.fixture
async def stage():
    return Stage()


def config(**subagents):
    return {"subagentBackend": "acting", "subagents": {"asyncStart": "allow", **subagents}}


def opened(stage, **subagents):
    return Ohm.open(env=HERMETIC, config=config(**subagents), plugins=[ActingBackend(stage.act)])


async def start(ohm, *names, **how):
    tasks = [ITEM | {"prompt": name} for name in names]
    return (await ohm.call("task", {"op": "start", "tasks": tasks, "async": True, **how})).details["items"]


async def test_calls_are_served_in_the_order_in_which_they_came_under_one_cap(stage):
    async with opened(stage, maxRunning=2) as ohm:
        await start(ohm, "a", "b", "c", parallel=True)
        await start(ohm, "d")
        await start(ohm, "e", "f", parallel=True)
        for names in (["a"], ["b", "c"], ["d", "e"], ["f"]):
            await anyio.wait_all_tasks_blocked()
            stage.let(*names)
        await anyio.wait_all_tasks_blocked()

    assert (stage.begun, stage.peak) == (["a", "b", "c", "d", "e", "f"], 2)


async def test_those_whose_turn_it_is_at_once_begin_in_their_order_on_every_event_loop(stage):
    names = [str(number) for number in range(40)]
    async with opened(stage, taskMaxConcurrency=40) as ohm:
        await start(ohm, *names, parallel=True)
        await anyio.wait_all_tasks_blocked()

    assert (stage.begun, stage.peak) == (names, 40)


async def test_a_batch_that_is_full_lets_others_pass(stage):
    async with opened(stage, taskMaxConcurrency=1) as ohm:
        await start(ohm, "a", "b", parallel=True)
        await start(ohm, "c")
        await anyio.wait_all_tasks_blocked()

        assert stage.on == ["a", "c"]


async def test_a_finished_child_frees_its_slot_at_once(stage):
    async with opened(stage, maxRunning=1) as ohm:
        first, _second = await start(ohm, "a", "b", parallel=True)
        await anyio.wait_all_tasks_blocked()
        assert stage.on == ["a"]
        await ohm.call("task", {"op": "cancel", "id": first["id"]})
        await anyio.wait_all_tasks_blocked()

        assert stage.on == ["b"]


async def test_a_task_in_line_shows_its_place(stage):
    async with opened(stage, maxRunning=1) as ohm:
        ids = [item["id"] for item in await start(ohm, "a", "b", "c", parallel=True)]
        await anyio.wait_all_tasks_blocked()

        async def places():
            items = (await ohm.call("task", {"op": "status", "ids": ids})).details["items"]
            return [item.get("queue_position") for item in items]

        assert await places() == [None, 1, 2]
        await ohm.call("task", {"op": "cancel", "id": ids[1]})
        assert await places() == [None, None, 1]
        stage.let("a")
        await anyio.wait_all_tasks_blocked()
        assert (await places(), stage.on) == ([None, None, None], ["c"])


async def test_a_frame_shows_the_place_in_line(stage):
    frames = []
    async with opened(stage, maxRunning=1) as ohm:
        await start(ohm, "a")
        async with anyio.create_task_group() as group:
            payload = {"op": "start", **ITEM, "prompt": "b"}
            group.start_soon(lambda: ohm.call("task", payload, on_update=lambda frame: frames.append(frame.details)))
            await anyio.wait_all_tasks_blocked()
            stage.let("a")
            await anyio.wait_all_tasks_blocked()
            stage.let("b")

    assert (frames[0]["status"], frames[0]["queue_position"]) == ("queued", 1)
    assert "queue_position" not in frames[-1]


async def test_a_higher_cap_takes_effect_at_once(stage):
    async with opened(stage, maxRunning=1) as ohm:
        await start(ohm, "a", "b", parallel=True)
        await anyio.wait_all_tasks_blocked()
        await ohm.reconfigure(config=config(maxRunning=2))
        await anyio.wait_all_tasks_blocked()

        assert stage.on == ["a", "b"]


async def test_many_that_are_cancelled_in_line_leave_nothing_behind(stage):
    async with opened(stage, maxRunning=1) as ohm:
        items = await start(ohm, *[f"{n}" for n in range(50)], parallel=True)
        await anyio.wait_all_tasks_blocked()
        for item in items[1:]:
            await ohm.call("task", {"op": "cancel", "id": item["id"]})
        stage.let("0")
        await start(ohm, "last")
        await anyio.wait_all_tasks_blocked()

        assert stage.on == ["last"]


async def test_what_a_task_starts_runs_in_its_slot_so_that_they_never_wait_for_each_other():
    async def act(request, sink):
        if request.description == "outer":
            return (await ohm.run("finder", "p", description="inner")).ok_value.output
        await anyio.lowlevel.checkpoint()
        return "done"

    subagents = {"maxRunning": 1, "budget": {"depth": 2}}
    config = {"subagentBackend": "acting", "subagents": subagents}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[ActingBackend(act)]) as ohm:
        with anyio.fail_after(60):
            assert (await ohm.run("finder", "p", description="outer")).ok_value.output == "done"


async def test_the_first_of_many_tasks_ends_while_the_last_ones_begin():
    said = []

    async def act(_request, _sink):
        said.append("begin")
        await anyio.lowlevel.checkpoint()
        said.append("end")
        return "done"

    config = {"subagentBackend": "acting"}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[ActingBackend(act)]) as ohm:
        await ohm.run("finder", "p")  # which opens the backend
        said.clear()
        async with anyio.create_task_group() as group:
            for _ in range(250):
                group.start_soon(ohm.run, "finder", "p")
    assert said.count("end") == 250
    assert said.index("end") < 250 - 50, "else a runner elsewhere would wait for the last one of a burst"


async def test_the_first_of_many_tasks_begins_before_the_last_calls_are_planned():
    planned = []

    async def act(_request, _sink):
        planned.append(ohm.store.count())
        await anyio.lowlevel.checkpoint()
        return "done"

    config = {"subagentBackend": "acting"}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[ActingBackend(act)]) as ohm:
        await ohm.run("finder", "p")  # which opens the backend
        async with anyio.create_task_group() as group:
            for _ in range(150):
                group.start_soon(ohm.run, "finder", "p")
    assert len(planned) == 151
    assert planned[1] < 100, "else a runner elsewhere would have nothing to do while a burst is planned"


async def test_calls_that_are_cancelled_before_their_turn_hold_up_no_others():
    ended = []

    async def call(number):
        with anyio.CancelScope() as scope:
            if number % 5 == 0:  # among them, each one that sees to the turn of others
                scope.cancel()
            ended.append((await ohm.run("finder", "p")).is_ok())

    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "none"}) as ohm:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for number in range(150):
                    group.start_soon(call, number)
    assert ended == [True] * 120
