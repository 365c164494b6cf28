"""The rest of the budgets: recorded with each task, and told to its model when little is left."""

from decimal import Decimal

import anyio
import anyio.lowlevel
import pytest
from acting import ActingBackend

from ohm_subagents import Budget, ErrorCode, LoopPolicy, Ohm
from ohm_subagents.contract import AccountCharged, GuardTripped, Remaining, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.plugin import Err, RequestNeed
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

USED = Usage(requests=1, input_tokens=100, output_tokens=50, cost_usd=Decimal("0.25"))
NEED = RequestNeed(provider="acme", model="m", input_tokens=10, max_output_tokens=50)


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


def opened(act, **subagents):
    config = {"subagentBackend": "acting", "subagents": subagents}
    return Ohm.open(env=HERMETIC, config=config, plugins=[ActingBackend(act)])


def turn(sink, number=0, usage=USED):
    """A model request that calls a tool."""
    sink.emit(UsageAdded(usage=usage))
    sink.emit(ToolStarted(call_id=f"{number}", tool="read", args=f'{{"n": {number}}}'))
    sink.emit(ToolEnded(call_id=f"{number}", tool="read", status="success", text=f"{number}"))


async def answered(request, sink):
    turn(sink)
    return "done"


class TestKept:
    async def test_what_nothing_limits_is_not_mentioned(self):
        async with opened(answered) as ohm:
            envelope = (await ohm.run("finder", "p")).unwrap()
            assert ohm.task(envelope.task_id).activity.account is None
        assert "remaining" not in envelope.payload()

    async def test_the_smallest_rest_counts_of_the_call_the_profile_and_the_configuration(self):
        own = {"budget": {"tokens": 1000, "requests": 9}}
        async with opened(answered, budget={"requests": 5, "toolCalls": 7, "costUsd": "2"}, finder=own) as ohm:
            envelope = (await ohm.run("finder", "p", budget=Budget(cost_usd=Decimal("0.5"), wall_ms=60_000))).unwrap()
        remaining = envelope.payload()["remaining"]
        assert 0 < remaining.pop("wall_ms") <= 60_000
        assert remaining == {"requests": 4, "tokens": 850, "cost_usd": "0.25", "tool_calls": 6}

    async def test_what_a_task_below_spends_is_gone_for_the_task_above_at_once(self):
        seen = []

        async def act(request, sink):
            if request.prompt == "child":
                turn(sink)
                seen.append(ohm.envelope(seen[0]).remaining)
                return "done"
            seen.append(request.task_id)
            await ohm.run("finder", "child")
            return "done"

        async with opened(act, budget={"requests": 9, "depth": 2, "spawns": 3}) as ohm:
            await ohm.run("finder", "parent")
            parent, child = (task.activity.account.remaining for task in ohm.store.tasks())
        assert (seen[1].requests, seen[1].spawns) == (8, 2)
        assert (parent, child) == (Remaining(requests=8, spawns=2), Remaining(requests=8))

    async def test_a_budget_that_changes_nothing_is_recorded_once(self):
        events = []

        class Observer:
            def notify(self, task, event):
                if isinstance(event, AccountCharged):
                    events.append(event.remaining.requests)

        async def act(request, sink):
            for number in range(3):
                turn(sink, number)
            return "done"

        async with opened(act) as ohm:
            await ohm.run("finder", "p", observer=Observer(), budget=Budget(requests=9))
        assert events == [9, 8, 7, 6]


class TestCounted:
    async def test_what_a_request_without_usage_takes_from_the_budget_is_known_to_its_task_and_those_above(self):
        priced = RequestNeed(provider="acme", model="m", max_output_tokens=50, price=lambda _, out: Decimal(out) / 1000)

        async def act(request, sink):
            for usage in (Usage(requests=1), USED):
                async with request.gate.request(priced):
                    sink.emit(UsageAdded(usage=usage))
            if request.prompt == "parent":
                await ohm.run("finder", "child")
            return "done"

        async with opened(act, budget={"depth": 2}) as ohm:
            await ohm.run("finder", "parent", budget=Budget(cost_usd=Decimal(2)))
            parent, child = (task.activity for task in ohm.store.tasks())
        assert (parent.account.unpriced_usd, child.account.unpriced_usd) == (Decimal("0.1"), Decimal("0.05"))
        assert parent.tree_usage.cost_usd + parent.account.unpriced_usd + parent.account.remaining.cost_usd == 2

    async def test_a_request_that_fails_was_made(self):
        async def act(request, sink):
            for _ in range(3):
                async with request.gate.request(NEED):
                    pass
            async with request.gate.request(NEED):
                sink.emit(UsageAdded(usage=USED))
            return "done"

        async with opened(act) as ohm:
            envelope = (await ohm.run("finder", "p", budget=Budget(requests=9))).unwrap()
        assert (envelope.usage.requests, envelope.remaining.requests) == (4, 5)

    async def test_a_request_that_is_out_when_its_task_is_cancelled_was_made_and_counts_once(self):
        async def act(request, sink):
            async with request.gate.request(NEED):
                try:
                    out.set()
                    await anyio.sleep_forever()
                finally:
                    sink.emit(UsageAdded(usage=USED))

        out = anyio.Event()
        async with opened(act, budget={"requests": 9}) as ohm:
            handle = await ohm.start("finder", "p")
            await out.wait()
            await handle.cancel()
            envelope = ohm.envelope(handle.id)
            assert (envelope.status, envelope.usage.requests) == ("cancelled", 1)
            await anyio.wait_all_tasks_blocked()
            assert ohm.task(handle.id).activity.usage == USED

    async def test_a_budget_has_paid_for_the_last_request_of_a_task_below_that_was_cancelled(self):
        async def act(request, sink):
            if request.prompt == "parent":
                child = await ohm.start("finder", "child")
                await out.wait()
                await child.cancel()
                await anyio.wait_all_tasks_blocked()
            async with request.gate.request(NEED) as grant:
                if isinstance(grant, Err):
                    return grant
                try:
                    out.set()
                    await anyio.sleep_forever()
                finally:
                    sink.emit(UsageAdded(usage=USED))

        out = anyio.Event()
        async with opened(act, budget={"tokens": 155, "depth": 2, "spawns": 3}) as ohm:
            error = (await ohm.run("finder", "parent")).unwrap_err()
            parent = ohm.task(error.task_id)
        assert (error.code, parent.activity.tree_usage) == (ErrorCode.BUDGET_EXCEEDED, USED)

    async def test_a_request_that_waits_for_its_turn_was_not_made(self):
        async def act(request, sink):
            async with request.gate.request(NEED):
                out.set()
                await anyio.sleep_forever()

        out = anyio.Event()
        async with opened(act, budget={"requests": 9}, maxRequests={"acme": 1}) as ohm:
            first = await ohm.start("finder", "p")
            await out.wait()
            second = await ohm.start("finder", "q")
            await anyio.sleep(1)
            await second.cancel()
            await first.cancel()
            assert (ohm.envelope(first.id).usage.requests, ohm.envelope(second.id).usage) == (1, None)

    async def test_calls_of_a_loop_that_was_stopped_count_like_its_requests(self):
        async def act(request, sink):
            with anyio.CancelScope(shield=True):
                for _ in range(21):
                    turn(sink)
                    await anyio.lowlevel.checkpoint()
            return "done"

        async with opened(act) as ohm:
            error = (await ohm.run("finder", "p", loop=LoopPolicy(identical_calls=5))).err_value
            envelope = ohm.envelope(error.task_id)
        assert envelope.stopped_by == "loop"
        assert len(envelope.tool_rows) < 21, "what it still does is not shown"
        assert (envelope.usage.requests, envelope.usage.tool_calls) == (21, 21)


class TestTold:
    async def told(self, budget, *, turns=10, usage=USED, gated=False, **options):
        said, trips = [], []

        class Observer:
            def notify(self, task, event):
                if isinstance(event, GuardTripped):
                    trips.append((event.guard, event.step))

        async def act(request, sink):
            with request.inbox.steered_by(lambda text: said.append(text) or True):
                for number in range(turns):
                    turn(sink, number, usage)
            return "done"

        async with opened(act) as ohm:
            self.envelope = (await ohm.run("finder", "p", budget=budget, observer=Observer())).unwrap()
        return said, trips

    async def test_once_when_a_fifth_is_left(self):
        said, trips = await self.told(Budget(tokens=1_500 + 300), usage=Usage(requests=1, input_tokens=150))
        assert said == [
            "300 of 1,800 tokens are left of the budget. Do only what matters most, and answer before it is spent."
        ]
        assert trips == [("tokens", "warn")]
        assert any("300 of 1,800 tokens" in line for line in self.envelope.diagnostics)

    async def test_and_once_more_when_one_request_is_left(self):
        said, _ = await self.told(Budget(requests=11))
        assert [text.partition(" of ")[0] for text in said] == ["2", "One model request is left"]

    async def test_nothing_of_a_budget_that_has_enough_or_of_none(self):
        assert await self.told(Budget(requests=100, tokens=1_000_000, tool_calls=50)) == ([], [])
        assert await self.told(None) == ([], [])

    async def test_with_the_next_prompt_where_the_run_takes_no_words(self):
        prompts = []

        async def act(request, sink):
            prompts.append(request.prompt)
            turn(sink, 0, Usage(requests=8))
            return "done"

        backend = ActingBackend(act, capabilities=frozenset())
        config = {"subagentBackend": "acting", "subagents": {"sendToFinished": "resume"}}
        async with Ohm.open(env=HERMETIC, config=config, plugins=[backend]) as ohm:
            handle = await ohm.start("finder", "first", budget=Budget(requests=10))
            sent = ohm.call("task", {"op": "send", "id": handle.id, "prompt": "second"})
            await sent
        assert prompts[0] == "first"
        assert prompts[1].startswith("2 of 10 model requests are left of the budget.")
        assert prompts[1].endswith("\n\nsecond")
