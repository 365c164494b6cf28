"""A ledger grants model requests while a submitter is gone, of what that has deposited, and never more."""

from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from acting import ActingBackend
from kept_ledger import Lookup
from loops import one_loop
from remote_backends import HASTY

from ohm_subagents import Budget, Ohm
from ohm_subagents.contract import TextDelta
from ohm_subagents.plugin import Err, Options, RequestNeed, Usage, UsageAdded, hookimpl
from ohm_subagents.remote import (
    LoopbackTransport,
    Patience,
    open_remote,
    open_runner,
    remote_capabilities,
)
from ohm_subagents.testing import EventLog

pytestmark = [pytest.mark.anyio, one_loop]


class AtRunner:
    def __init__(self, runner, spec, lookup, **options):
        self.runner, self.spec, self.lookup, self.options = runner, spec, lookup, options

    @hookimpl
    def ohm_backends(self):
        @asynccontextmanager
        async def opened(_options):
            transport, lookup = LoopbackTransport(self.runner), self.lookup
            async with open_remote(transport, ledger=lookup, **self.options) as backend:
                yield backend

        return [replace(self.spec, open=opened, capabilities=remote_capabilities(self.spec.capabilities))]


@asynccontextmanager
async def place_of(act, directory, lookup):
    """A function that opens an `Ohm` on one runner which knows a ledger, with tasks that are kept in a directory."""
    (spec,) = ActingBackend(act).ohm_backends()

    def opened(*more, after_s=0.05, patience=HASTY, **subagents):
        config = {"subagentBackend": "acting", "subagents": {"store": "sqlite", "onClose": "detach", **subagents}}
        env = {"PI_CONFIG_DIR": str(directory), "HOME": str(directory), "OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
        plugin = AtRunner(runner, spec, lookup, patience=patience, ledger_after_s=after_s)
        return Ohm.open(cwd=directory, env=env, config=config, plugins=[plugin, *more])

    async with open_runner(spec, Options(), ledger=lookup) as runner:
        yield opened


def says(text):
    return lambda _task, event: isinstance(event, TextDelta) and text in event.text


class Asking:
    """Asks for requests until one is refused, or there were `most`; after the first it waits for `goes_on`."""

    def __init__(self, most=1000):
        self.granted, self.goes_on, self.most, self.told = [], anyio.Event(), most, anyio.Event()
        self.until = None

    async def __call__(self, request, sink):
        for _ in range(self.most):
            async with request.gate.request(RequestNeed(provider="acme")) as grant:
                if isinstance(grant, Err):
                    return grant
                self.granted.append(request.task_id)
                if len(self.granted) == self.until:
                    self.told.set()
                await anyio.lowlevel.checkpoint()
                sink.emit(UsageAdded(usage=Usage(requests=1)))
                sink.emit(TextDelta(text="asked "))
            await self.goes_on.wait()
        return "done"


async def begun(ohm, log, tasks):
    batch = {"op": "start", "parallel": True, "async": True}
    batch["tasks"] = [{"subagent_type": "finder", "description": "d", "prompt": "p"} for _ in range(tasks)]
    await ohm.call("task", batch)
    ids = [task.id for task in ohm.store.tasks()]
    for one in ids:
        await log.until(lambda task, event, this=one: task.id == this and isinstance(event, TextDelta))
    return ids


async def test_runs_go_on_without_their_submitter_and_the_next_one_knows_all_that_they_have_used(tmp_path):
    act, log, lookup = Asking(most=4), EventLog(), Lookup()
    async with place_of(act, tmp_path, lookup) as opened:
        async with opened(log, budget={"requests": 30}, asyncStart="allow") as ohm:
            ids = await begun(ohm, log, 3)
        act.until = 12
        act.goes_on.set()
        await act.told.wait()  # nobody is there
        async with opened() as ohm:
            assert [(await ohm.handle(one).wait()).unwrap().output for one in ids] == ["done"] * 3
            assert [ohm.task(one).activity.usage.requests for one in ids] == [4, 4, 4]
        assert lookup.memory.state == b'{"budgets":{},"runs":{}}'


async def test_a_shared_budget_holds_however_many_submitters_and_the_ledger_grant_of_it(tmp_path):
    act, log, lookup = Asking(), EventLog(), Lookup()
    async with place_of(act, tmp_path, lookup) as opened:
        async with opened(log, budget={"requests": 20}, asyncStart="allow") as ohm:
            ids = await begun(ohm, log, 3)
        act.until = 12  # of 20, three by their submitter
        act.goes_on.set()
        await act.told.wait()
        async with opened(budget={"requests": 1000}) as ohm:
            for one in ids:
                assert (await ohm.handle(one).wait()).unwrap_err().code == "task_budget_exceeded"
            used = sum(ohm.task(one).activity.usage.requests for one in ids)
        assert (len(act.granted), used) == (20, 20)
        assert lookup.memory.state == b'{"budgets":{},"runs":{}}'


async def test_a_ledger_that_is_killed_goes_on_from_what_it_kept_and_grants_nothing_meanwhile(tmp_path):
    act, log, lookup = Asking(), EventLog(), Lookup()
    async with place_of(act, tmp_path, lookup) as opened:
        async with opened(log, budget={"requests": 9}, asyncStart="allow") as ohm:
            ids = await begun(ohm, log, 2)
        lookup.is_down = True
        act.until = 5
        act.goes_on.set()
        await lookup.asked_in_vain.wait()
        assert len(act.granted) == 2
        lookup.begin()
        lookup.is_down = False
        await act.told.wait()
        lookup.begin()
        async with opened() as ohm:
            for one in ids:
                assert (await ohm.handle(one).wait()).unwrap_err().code == "task_budget_exceeded"
            used = sum(ohm.task(one).activity.usage.requests for one in ids)
        assert (len(act.granted), used) == (9, 9)


async def test_what_the_ledger_has_granted_to_a_run_that_is_lost_counts(tmp_path):
    act, log, lookup = Asking(most=5), EventLog(), Lookup()
    async with place_of(act, tmp_path, lookup) as opened:
        async with opened(log, budget={"requests": 20}) as ohm:
            handle = await ohm.start("finder", "p")
            await log.until(says("asked"))
        act.until = 4
        act.goes_on.set()
        await act.told.wait()
    async with place_of(act, tmp_path, lookup) as opened, opened() as ohm:
        assert (await ohm.handle(handle.id).wait()).unwrap_err().code == "runner_lost"
        assert 4 <= ohm.task(handle.id).activity.usage.requests <= 6
    assert lookup.memory.state == b'{"budgets":{},"runs":{}}'


class Unreachable:
    """Nobody reaches the ledger any more once usage was recorded."""

    def __init__(self, lookup):
        self.lookup = lookup

    @hookimpl
    def ohm_observers(self):
        return (self,)

    def notify(self, _task, event):
        self.lookup.is_down |= isinstance(event, UsageAdded)


async def test_what_of_a_lost_run_was_recorded_and_not_told_to_the_ledger_counts_once(tmp_path):
    act, log, later, lookup = Asking(), EventLog(), EventLog(), Lookup()
    async with place_of(act, tmp_path, lookup) as opened:
        async with opened(log, budget={"requests": 20}) as ohm:
            handle = await ohm.start("finder", "p")
            await log.until(says("asked"))
        act.until = 2
        act.goes_on.set()
        act.goes_on = anyio.Event()  # it rests after the next request
        await act.told.wait()
        while b'"told":0' in lookup.memory.state:
            await anyio.lowlevel.checkpoint()
        async with opened(later, Unreachable(lookup)):
            await later.until(says("asked"))
    lookup.is_down = False
    async with place_of(act, tmp_path, lookup) as opened, opened() as ohm:
        assert (await ohm.handle(handle.id).wait()).unwrap_err().code == "runner_lost"
        assert ohm.task(handle.id).activity.usage.requests == 2 + 1  # it may have had one out when it was lost
    assert lookup.memory.state == b'{"budgets":{},"runs":{}}'


async def test_a_ledger_is_not_called_for_each_request(tmp_path):
    act, lookup = Asking(most=100), Lookup()
    act.goes_on.set()
    async with place_of(act, tmp_path, lookup) as opened, opened(budget={"requests": 1000}) as ohm:
        assert (await ohm.run("finder", "p")).unwrap().output == "done"
    assert len(act.granted) == 100
    assert lookup.calls < 10


async def test_a_run_whose_ledger_does_not_answer_who_takes_it_up_ends_at_its_runner_too(tmp_path):
    log, lookup, ended = EventLog(), Lookup(), anyio.Event()

    async def act(request, sink):
        async with request.gate.request(RequestNeed(provider="acme")):
            sink.emit(TextDelta(text="asked"))
            try:
                await anyio.sleep_forever()
            finally:
                ended.set()

    async with place_of(act, tmp_path, lookup) as opened:
        async with opened(log) as ohm:
            handle = await ohm.start("finder", "p", budget=Budget(requests=9))
            await log.until(says("asked"))
        lookup.is_down = True
        async with opened(patience=Patience(retry_s=0.01, lost_s=1)) as ohm:
            assert "The ledger" in (await ohm.handle(handle.id).wait()).unwrap_err().message
            assert ohm.task(handle.id).text == "asked"
            await ended.wait()


async def test_without_a_ledger_a_run_waits_for_its_next_submitter(tmp_path):
    act, log, lookup = Asking(most=3), EventLog(), Lookup()
    async with place_of(act, tmp_path, lookup) as opened:
        async with opened(log, after_s=None) as ohm:
            handle = await ohm.start("finder", "p", budget=Budget(requests=9))
            await log.until(says("asked"))
        act.goes_on.set()
        await anyio.wait_all_tasks_blocked()
        assert (len(act.granted), lookup.is_begun) == (1, False)
        async with opened(after_s=None) as ohm:
            assert (await ohm.handle(handle.id).wait()).unwrap().output == "done"
