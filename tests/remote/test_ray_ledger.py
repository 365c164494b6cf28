"""A ledger grants requests to runs of a pool whose runner dies before their program hears of them."""

import anyio
import pytest
from kept_ledger import Lookup
from loops import one_loop
from pooled_runners import PooledRunners, pool
from told_backend import TOLD

from ohm_subagents import Budget, ErrorCode
from ohm_subagents.contract import TextDelta
from ohm_subagents.plugin import Err, RequestNeed, Usage, UsageAdded
from ohm_subagents.testing import HERMETIC, EventLog

pytestmark = [pytest.mark.anyio, one_loop]
MOST = 8


class Mortal:
    """Makes requests until one is refused; dies at one of them, after its answer or before."""

    def __init__(self, dies_at, *, is_open):
        self.dies_at, self.is_open = dies_at, is_open
        self.granted, self.goes_on, self.has_died = 0, anyio.Event(), anyio.Event()

    async def run(self, request, sink):
        while True:
            async with request.gate.request(RequestNeed(provider="acme")) as grant:
                if isinstance(grant, Err):
                    return grant
                self.granted += 1
                dies = self.granted == self.dies_at
                if dies and self.is_open:
                    await self.dies()
                await anyio.lowlevel.checkpoint()
                sink.emit(UsageAdded(usage=Usage(requests=1)))
                sink.emit(TextDelta(text="asked "))
            if dies:
                await self.dies()
            await self.goes_on.wait()

    async def dies(self):
        self.has_died.set()
        await anyio.sleep_forever()


def kept_in(directory):
    return {**HERMETIC, "PI_CONFIG_DIR": str(directory), "OHM_SUBAGENTS_STORE": "sqlite"}


@pytest.mark.sample(4)
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "over"])
@pytest.mark.parametrize("dies_at", [2, 5, 6, 7])
async def test_a_run_that_dies_with_its_program_goes_on_elsewhere_within_its_budget(tmp_path, dies_at, is_open):
    act, log, lookup = Mortal(dies_at, is_open=is_open), EventLog(), Lookup()
    alike = {"settings": {"onClose": "detach"}, "env": kept_in(tmp_path), "ledger": lookup}
    async with anyio.create_task_group() as group:
        alike["here"] = here = PooledRunners(group, act, TOLD.capabilities, "told", lookup)
        async with pool(log, onLost="retry", **alike) as (ohm, _):
            handle = await ohm.start("finder", "p", budget=Budget(requests=MOST))
            await log.until(lambda _task, event: isinstance(event, TextDelta))
        act.goes_on.set()
        await act.has_died.wait()  # what the ledger has granted, its program has not heard of
        for one in here.hosted.values():
            one.dead.set()
        async with pool(onLost="retry", **alike) as (ohm, _):
            error = (await ohm.handle(handle.id).wait()).unwrap_err()
            used = ohm.task(handle.id).activity.usage.requests
        group.cancel_scope.cancel()
    assert error.code == ErrorCode.BUDGET_EXCEEDED
    assert act.granted <= used <= MOST
    assert lookup.memory.state == b'{"budgets":{},"runs":{}}'


@pytest.mark.parametrize("dies_at", [2, 6])
async def test_a_run_whose_runner_was_cut_off_before_it_died_goes_on_elsewhere_within_its_budget(tmp_path, dies_at):
    act, log, lookup = Mortal(dies_at, is_open=False), EventLog(), Lookup()
    async with anyio.create_task_group() as group:
        here = PooledRunners(group, act, TOLD.capabilities, "told", lookup)
        async with pool(log, here=here, ledger=lookup, onLost="retry", env=kept_in(tmp_path)) as (ohm, _):
            handle = await ohm.start("finder", "p", budget=Budget(requests=MOST))
            await log.until(lambda _task, event: isinstance(event, TextDelta))
            for one in here.hosted.values():
                one.is_cut.set()
            act.goes_on.set()
            await act.has_died.wait()  # what the ledger has granted, its program has not heard of
            for one in [*here.hosted.values()]:
                one.dead.set()
            error = (await handle.wait()).unwrap_err()
            used = ohm.task(handle.id).activity.usage.requests
        group.cancel_scope.cancel()
    assert error.code == ErrorCode.BUDGET_EXCEEDED
    assert act.granted <= used <= MOST
    assert lookup.memory.state == b'{"budgets":{},"runs":{}}'


async def test_what_a_ledger_granted_to_a_cancelled_run_whose_runner_is_cut_off_counts(tmp_path):
    act, log, lookup = Mortal(3, is_open=False), EventLog(), Lookup()
    async with anyio.create_task_group() as group:
        here = PooledRunners(group, act, TOLD.capabilities, "told", lookup)
        async with pool(log, here=here, ledger=lookup, cancel_s=0.05, env=kept_in(tmp_path)) as (ohm, _):
            handle = await ohm.start("finder", "p", budget=Budget(requests=MOST))
            await log.until(lambda _task, event: isinstance(event, TextDelta))
            for one in here.hosted.values():
                one.is_cut.set()
            act.goes_on.set()
            await act.has_died.wait()  # what the ledger has granted, its program has not heard of
            assert await handle.cancel()
        used = next(task for task, _ in reversed(log.entries) if task.id == handle.id).activity.usage.requests
        group.cancel_scope.cancel()
    assert act.granted == used == 3
    assert lookup.memory.state == b'{"budgets":{},"runs":{}}'
