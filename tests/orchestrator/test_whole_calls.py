"""A start as a whole: how many items run at once, what is planned first, and what an abort stops."""

import anyio
import pytest
from surface import item, mounted

from ohm_subagents.contract import ErrorCode, OhmError, Start
from ohm_subagents.plugin import Decision, hookimpl
from ohm_subagents.testing import EventLog, ScriptedBackend, Step

pytestmark = pytest.mark.anyio

GONE = OhmError(code=ErrorCode.SESSION_NOT_FOUND, message="Gone.")


class Counting(ScriptedBackend):
    """Runs that wait for `gate`; `peak` is how many did so at once."""

    def __init__(self):
        self.gate, self.running, self.peak = anyio.Event(), 0, 0
        super().__init__(default=Step(text="x", gate=self.gate))

    async def run(self, request, sink):
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            return await super().run(request, sink)
        finally:
            self.running -= 1


@pytest.mark.parametrize(("limit", "peak"), [(4, 4), (None, 2), (16, 6), (1, 1)])
async def test_a_start_may_say_how_many_of_its_items_run_at_once(limit, peak):
    backend = Counting()
    config = {"subagents": {"taskMaxConcurrency": 2}}
    start = Start(items=(item(),) * 6, parallel=True, limit=limit)
    async with mounted(backend=backend, config=config) as surface, anyio.create_task_group() as group:
        group.start_soon(surface.engine.execute, start)
        await anyio.wait_all_tasks_blocked()
        backend.gate.set()

    assert backend.peak == peak
    assert len(backend.calls) == 6


async def test_an_item_that_its_suite_refuses_costs_only_itself():
    async with mounted() as surface:
        reply = await surface.engine.execute(Start(items=(item("a"), item("b", refusal=GONE), item("c"))))

    assert [one.kind for one in reply.items] == ["accepted", "refused", "accepted"]
    assert reply.items[1].error is GONE
    assert [request.prompt for request in surface.backend.calls] == ["a", "c"]


async def test_every_item_is_planned_before_any_is_enrolled():
    heard = []

    class Asked:
        @hookimpl
        def ohm_permission(self, request):
            heard.append((request.prompt, [task.id for task in surface.ohm.store.tasks()]))

    async with mounted(plugins=[Asked()]) as surface:
        await surface.engine.execute(Start(items=(item("a"), item("b"))))

    assert heard == [("a", []), ("b", [])]


async def test_an_abort_cancels_the_four_that_run_and_never_starts_the_two_that_wait():
    backend, log, abort, replies = Counting(), EventLog(), anyio.Event(), []
    start = Start(items=tuple(item(f"p{n}") for n in range(6)), parallel=True, limit=4)
    async with mounted(backend=backend, plugins=[log]) as surface, anyio.create_task_group() as group:

        async def ask():
            replies.append(await surface.engine.execute(start, abort=abort))

        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        abort.set()

    [reply] = replies
    assert [one.task.status for one in reply.items] == ["cancelled"] * 6
    assert [len(one.task.runs) for one in reply.items] == [1, 1, 1, 1, 0, 0]
    assert [request.prompt for request in backend.calls] == ["p0", "p1", "p2", "p3"]
    assert (backend.running, log.kinds().count("run_started")) == (0, 4)


async def test_an_abort_that_came_before_starts_nothing():
    abort = anyio.Event()
    abort.set()
    async with mounted() as surface:
        reply = await surface.engine.execute(Start(items=(item(),) * 6, parallel=True, limit=4), abort=abort)

    assert [one.task.status for one in reply.items] == ["cancelled"] * 6
    assert surface.backend.calls == []


async def test_plugins_decide_about_each_start_and_each_has_its_own_texts():
    class Deny:
        @hookimpl
        def ohm_permission(self, request):
            return Decision(verdict="deny", source="test") if request.prompt == "b" else None

    async with mounted(plugins=[Deny()]) as surface:
        replies = [await surface.engine.execute(Start(items=(item(prompt),))) for prompt in ("a", "b", "c")]

    assert [type(reply.items[0]).__name__ for reply in replies] == ["Accepted", "ItemRejected", "Accepted"]
    assert [request.prompt for request in surface.backend.calls] == ["a", "c"]
