"""What a suite may ask of a start as a whole: how many run at once, and what refuses all of it."""

import anyio
import pytest
from surface import item, mounted

from ohm_subagents.contract import ErrorCode, OhmError, Rejected, Start
from ohm_subagents.plugin import hookimpl
from ohm_subagents.testing import EventLog, ScriptedBackend, Step

pytestmark = pytest.mark.anyio

GONE = OhmError(code=ErrorCode.SESSION_NOT_FOUND, message="Gone.")
BUSY = OhmError(code=ErrorCode.SESSION_BUSY, message="Busy.")
FATAL = (ErrorCode.SESSION_NOT_FOUND, ErrorCode.SESSION_BUSY, ErrorCode.CWD_INVALID)


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


async def test_a_refused_item_costs_only_itself_as_long_as_nobody_says_otherwise():
    async with mounted() as surface:
        reply = await surface.engine.execute(Start(items=(item("a"), item("b", objection=GONE), item("c"))))

    assert [one.kind for one in reply.items] == ["accepted", "refused", "accepted"]
    assert reply.items[1].error is GONE
    assert [request.prompt for request in surface.backend.calls] == ["a", "c"]


async def test_a_refusal_that_aborts_starts_nothing_at_all():
    log = EventLog()
    items = (item("a"), item("b", objection=GONE), item("c"))
    async with mounted(plugins=[log]) as surface:
        reply = await surface.engine.execute(Start(items=items, parallel=True, abort_on=FATAL))
        kept = list(surface.ohm.store.tasks())

    assert isinstance(reply, Rejected)
    assert (reply.error, reply.items) == (GONE, items)
    assert (surface.backend.calls, log.kinds(), kept) == ([], [], [])


async def test_of_several_the_code_that_comes_first_is_told_and_of_its_items_the_first():
    first = OhmError(code=ErrorCode.SESSION_BUSY, message="The first.")
    items = (item(objection=BUSY), item(objection=first), item(objection=GONE), item(profile="nobody"))
    async with mounted() as surface:
        by_rank = await surface.engine.execute(Start(items=items, abort_on=FATAL))
        by_place = await surface.engine.execute(Start(items=items[1::-1], abort_on=FATAL))
        not_meant = await surface.engine.execute(Start(items=items[3:], abort_on=FATAL))

    assert (by_rank.error, by_place.error) == (GONE, first)
    assert not_meant.items[0].error.code == ErrorCode.UNKNOWN_SUBAGENT_TYPE


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
