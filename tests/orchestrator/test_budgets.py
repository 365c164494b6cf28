"""Budgets: kept for the whole tree, reserved before each request, and what was done is kept when they are spent."""

from contextlib import suppress
from decimal import Decimal

import anyio
import pytest
from acting import ActingBackend

from ohm_subagents import Budget, ErrorCode, Ohm
from ohm_subagents.contract import TextDelta, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.plugin import Err, Ok, RequestNeed
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

pytestmark = pytest.mark.anyio

NEED = RequestNeed(provider="acme", model="m", input_tokens=100, max_output_tokens=50)
USAGE = Usage(requests=1, input_tokens=100, output_tokens=50)
PRICED = RequestNeed(
    provider="acme",
    model="m",
    input_tokens=100,
    max_output_tokens=50,
    price=lambda tokens_in, tokens_out: Decimal(tokens_in + 2 * tokens_out) / 1000,
)
ITEM = {"subagent_type": "finder", "description": "d", "prompt": "p"}
NO_USAGE = frozenset()


class Provider:
    """A model that answers after a second; counts the requests that reached it, and those at the same time."""

    def __init__(self, *, usage=USAGE, times=1, need=NEED):
        self.usage = usage
        self.times = times
        self.need = need
        self.requests = self.now = self.peak = 0
        self.grants = []

    async def act(self, request, sink):
        for number in range(self.times):
            async with request.gate.request(self.need) as leave:
                if isinstance(leave, Err):
                    return leave
                self.grants.append(leave.ok_value)
                self.requests += 1
                self.now += 1
                self.peak = max(self.peak, self.now)
                await anyio.sleep(1)
                self.now -= 1
                sink.emit(TextDelta(text=f"{number}"))
                sink.emit(UsageAdded(usage=self.usage))
        return "done"


def opened(*plugins, **subagents):
    config = {"subagentBackend": "acting", "subagents": subagents}
    return Ohm.open(env=HERMETIC, config=config, plugins=plugins)


async def batch(ohm, count):
    return (await ohm.call("task", {"op": "start", "tasks": [ITEM] * count, "parallel": True})).details


def statuses(details):
    return [item["status"] for item in details["items"]]


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


class TestRequests:
    async def test_a_hundred_children_with_a_tree_budget_of_ten_requests_make_exactly_ten(self):
        provider = Provider()

        async def parent(request, sink):
            answers = []

            async def child():
                answers.append(await ohm.run("finder", "p", backend="acting"))

            async with request.gate.request(NEED):
                sink.emit(UsageAdded(usage=USAGE))
            async with anyio.create_task_group() as group:
                for _ in range(100):
                    group.start_soon(child)
            return f"{sum(isinstance(one, Ok) for one in answers)} of {len(answers)}"

        root = ActingBackend(parent, id="root")
        async with opened(ActingBackend(provider.act), root, budget={"depth": 2, "spawns": 100}) as ohm:
            result = await ohm.run("oracle", "p", backend="root", budget=Budget(requests=10))

        assert (provider.requests, result.ok_value.output) == (9, "9 of 100"), "and one of the parent"

    @pytest.mark.parametrize("parallel", [1, 3, 100])
    async def test_a_batch_shares_the_budget_of_its_call_whatever_runs_at_once(self, parallel):
        provider = Provider()
        async with opened(ActingBackend(provider.act), taskMaxConcurrency=parallel, budget={"requests": 10}) as ohm:
            details = await batch(ohm, 100)

        codes = {item.get("error_code") for item in details["items"]} - {None}
        assert provider.requests == 10
        assert codes == {ErrorCode.BUDGET_EXCEEDED}
        assert statuses(details) == ["succeeded"] * 10 + ["failed"] * 90, "the first ones got it"

    async def test_a_backend_that_does_not_count_is_counted_a_request_a_run(self):
        backend = ScriptedBackend(default=Step(text="done"), id="acting")
        async with opened(backend, budget={"requests": 4}) as ohm:
            details = await batch(ohm, 9)

        assert (len(backend.calls), statuses(details).count("succeeded")) == (4, 4)

    async def test_a_backend_that_never_asks_is_stopped_when_it_tells_of_too_much(self):
        async def act(request, sink):
            for _ in range(5):
                sink.emit(UsageAdded(usage=Usage(requests=1)))
                await anyio.sleep(1)
            return "done"

        async with opened(ActingBackend(act)) as ohm:
            error = (await ohm.run("finder", "p", budget=Budget(requests=2))).err_value
            envelope = ohm.envelope(error.task_id)

        assert (error.code, envelope.stopped_by) == (ErrorCode.BUDGET_EXCEEDED, "requests")
        assert envelope.usage.requests == 3

    async def test_the_last_request_is_told_so_and_what_was_done_is_kept(self):
        provider = Provider(times=3)
        async with opened(ActingBackend(provider.act)) as ohm:
            error = (await ohm.run("finder", "p", budget=Budget(requests=2))).err_value
            envelope = ohm.envelope(error.task_id)

        assert [grant.is_last for grant in provider.grants] == [False, True]
        assert error.message == "The budget of 2 model requests of the call is spent."
        assert (envelope.assistant_text, envelope.usage.requests, envelope.stopped_by) == ("01", 2, "requests")

    async def test_a_request_is_refused_that_waited_while_others_were_granted_the_rest_of_the_budget(self):
        async def act(request, sink):
            if request.prompt.endswith("second"):
                await has_cover.wait()
            async with request.gate.request(NEED) as leave:
                if isinstance(leave, Err):
                    return leave
                granted.append(request.task_id)
                sink.emit(UsageAdded(usage=USAGE))

            async def cover():
                sink.emit(UsageAdded(usage=Usage(requests=2)))  # by who may grant a part of it

            [shared] = [one for one in leave.ok_value.budgets if one.rest().requests is not None]
            shared.cover = cover
            has_cover.set()
            await has_asked.wait()
            return "done"

        granted, has_cover, has_asked = [], anyio.Event(), anyio.Event()
        async with opened(ActingBackend(act), asyncStart="allow", budget={"requests": 3}) as ohm:
            items = [ITEM | {"prompt": "first"}, ITEM | {"prompt": "second"}]
            await ohm.call("task", {"op": "start", "tasks": items, "parallel": True, "async": True})
            first, second = (ohm.handle(task.id) for task in ohm.store.tasks())
            assert (await second.wait()).unwrap_err().code == ErrorCode.BUDGET_EXCEEDED
            has_asked.set()
        assert granted == [first.id]

    async def test_every_request_that_goes_out_is_spent_whether_it_fails_or_is_refused_and_made_again(self):
        sent = []

        async def act(request, sink):
            for attempt in range(1, 12):
                with suppress(ConnectionError):
                    async with request.gate.request(NEED) as leave:
                        if isinstance(leave, Err):
                            return leave
                        sent.append(attempt)
                        raise ConnectionError
                await request.gate.throttled("acme", attempt=attempt, retry_after_s=1)
            return "never"

        async with opened(ActingBackend(act), requestRetries=10) as ohm:
            error = (await ohm.run("finder", "p", budget=Budget(requests=3))).err_value

        assert (error.code, sent) == (ErrorCode.BUDGET_EXCEEDED, [1, 2, 3])


class TestTokensAndCost:
    async def test_parallel_children_never_go_beyond_a_budget_of_tokens(self):
        provider = Provider()
        async with opened(ActingBackend(provider.act), taskMaxConcurrency=50, budget={"tokens": 1000}) as ohm:
            await batch(ohm, 50)

        assert 900 <= 150 * provider.requests <= 1000
        assert provider.peak == provider.requests, "and none waited for another in vain"

    async def test_what_was_reserved_and_not_used_is_there_for_the_next(self):
        provider = Provider(usage=Usage(requests=1, input_tokens=10, output_tokens=10))
        async with opened(ActingBackend(provider.act), taskMaxConcurrency=50, budget={"tokens": 300}) as ohm:
            details = await batch(ohm, 8)

        assert (provider.requests, provider.peak) == (8, 2)
        assert statuses(details) == ["succeeded"] * 8

    async def test_what_a_cancelled_request_may_have_used_is_for_no_other_until_that_is_known(self):
        cancelled = anyio.Event()

        async def act(request, sink):
            if request.prompt.endswith("second"):  # after a notice of what is left
                await cancelled.wait()
            async with request.gate.request(NEED) as leave:
                if isinstance(leave, Err):
                    return leave
                try:
                    await anyio.sleep_forever()
                finally:
                    with anyio.CancelScope(shield=True):
                        await anyio.sleep(1)
                        sink.emit(UsageAdded(usage=USAGE))

        async with opened(ActingBackend(act), asyncStart="allow", budget={"tokens": 200}) as ohm:
            items = [ITEM | {"prompt": "first"}, ITEM | {"prompt": "second"}]
            await ohm.call("task", {"op": "start", "tasks": items, "parallel": True, "async": True})
            first, second = (ohm.handle(task.id) for task in ohm.store.tasks())
            await anyio.sleep(1)
            await first.cancel()
            cancelled.set()
            error = (await second.wait()).unwrap_err()
            assert error.code == ErrorCode.BUDGET_EXCEEDED
            assert ohm.task(first.id).activity.usage == USAGE

    async def test_an_answer_may_be_as_long_as_the_budget_has_left(self):
        provider = Provider(need=RequestNeed(provider="acme", input_tokens=100))
        async with opened(ActingBackend(provider.act)) as ohm:
            await ohm.run("finder", "p", budget=Budget(tokens=400))

        [grant] = provider.grants
        assert (grant.max_output_tokens, grant.is_last) == (300, True)

    async def test_money_is_counted_by_the_price_of_the_model(self):
        usage = Usage(requests=1, input_tokens=100, output_tokens=50, cost_usd=Decimal("0.2"))
        provider = Provider(need=PRICED, usage=usage)
        async with opened(ActingBackend(provider.act), taskMaxConcurrency=9, budget={"costUsd": "0.5"}) as ohm:
            details = await batch(ohm, 9)

        assert [grant.max_output_tokens for grant in provider.grants] == [50, 50]
        assert statuses(details) == ["succeeded"] * 2 + ["failed"] * 7
        assert details["items"][-1]["error_message"] == (
            "The budget of 0.5 US dollars of subagents.budget has 0.1 left, and the next request costs 0.102 or more."
        )

    async def test_money_that_was_reserved_and_not_spent_is_there_for_the_next(self):
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, cost_usd=Decimal("0.02"))
        provider = Provider(need=PRICED, usage=usage)
        async with opened(ActingBackend(provider.act), taskMaxConcurrency=50, budget={"costUsd": "0.5"}) as ohm:
            details = await batch(ohm, 8)

        assert (provider.requests, provider.peak) == (8, 2)
        assert statuses(details) == ["succeeded"] * 8

    async def test_a_budget_of_money_for_a_model_without_a_price_is_refused_before_anything_is_asked(self):
        provider = Provider()
        async with opened(ActingBackend(provider.act)) as ohm:
            error = (await ohm.run("finder", "p", budget=Budget(cost_usd=Decimal(1)))).err_value

        assert (error.code, provider.requests) == (ErrorCode.BUDGET_UNENFORCEABLE, 0)
        assert "'acme/m'" in error.message

    @pytest.mark.parametrize("budget", [Budget(tokens=1000), Budget(cost_usd=Decimal(1))])
    async def test_a_backend_that_reports_no_usage_is_refused_when_tokens_or_money_are_limited(self, budget):
        provider = Provider()
        async with opened(ActingBackend(provider.act, capabilities=NO_USAGE)) as ohm:
            error = (await ohm.run("finder", "p", budget=budget)).err_value

        assert (error.code, provider.requests) == (ErrorCode.BUDGET_UNENFORCEABLE, 0)


class TestToolCallsAndTime:
    async def test_the_tool_call_beyond_the_budget_is_not_made(self):
        made = []

        async def act(request, sink):
            for number in range(9):
                sink.emit(ToolStarted(call_id=f"{number}", tool="read", args=f"{number}"))
                await anyio.sleep(1)
                made.append(number)
                sink.emit(ToolEnded(call_id=f"{number}", tool="read", status="success", text=f"{number}"))
            return "done"

        async with opened(ActingBackend(act)) as ohm:
            error = (await ohm.run("finder", "p", budget=Budget(tool_calls=3))).err_value
            envelope = ohm.envelope(error.task_id)

        assert made == [0, 1, 2]
        assert (error.code, envelope.stopped_by) == (ErrorCode.BUDGET_EXCEEDED, "tool_calls")
        assert envelope.tool_rows[-1] == "✕ read interrupted"

    async def test_a_budget_of_time_is_that_of_the_whole_tree_and_progress_does_not_move_it(self):
        async def act(request, sink):
            while True:
                await anyio.sleep(10)
                sink.emit(TextDelta(text="."))

        async with opened(ActingBackend(act), budget={"wallMs": 45_000}) as ohm:
            begun = anyio.current_time()
            details = (await ohm.call("task", {"op": "start", "tasks": [ITEM] * 2})).details
            seconds = anyio.current_time() - begun

        first, second = details["items"]
        assert seconds == 45
        assert (first["stopped_by"], first["assistant_text"]) == ("wall", "....")
        assert (second["stopped_by"], second["error_code"]) == ("wall", ErrorCode.BUDGET_EXCEEDED)


def nesting(levels):
    """Each run starts another one, until there are so many."""

    async def act(request, sink):
        if len(backend.requests) < levels:
            answer = await backend.ohm.run("finder", "p")
            return answer if isinstance(answer, Err) else f"{answer.ok_value.output}."
        return "deep"

    backend = ActingBackend(act)
    return backend


class TestDepthAndSpawns:
    """On by default: a subagent starts no subagents unless somebody allows it."""

    async def test_a_subagent_may_not_start_another_by_default(self):
        backend = nesting(2)
        async with opened(backend) as backend.ohm:
            error = (await backend.ohm.run("finder", "p")).err_value

        assert (error.code, len(backend.requests)) == (ErrorCode.DEPTH_EXCEEDED, 1)
        assert "depth 2" in error.message

    async def test_depth_is_counted_over_the_whole_tree_and_a_task_knows_its_parent(self):
        backend = nesting(3)
        async with opened(backend, budget={"depth": 3}) as backend.ohm:
            answer = await backend.ohm.run("finder", "p")
            tasks = [backend.ohm.task(request.task_id) for request in backend.requests]

        assert answer.ok_value.output == "deep.."
        assert [task.assignment.parent for task in tasks] == [None, tasks[0].id, tasks[1].id]

    async def test_a_budget_of_depth_counts_from_whom_it_belongs_to(self):
        backend = nesting(3)
        async with opened(backend, budget={"depth": 9}) as backend.ohm:
            error = (await backend.ohm.run("finder", "p", budget=Budget(depth=2))).err_value

        assert (error.code, len(backend.requests)) == (ErrorCode.DEPTH_EXCEEDED, 2)

    async def test_a_process_that_is_a_subagent_itself_begins_where_it_is(self):
        backend = nesting(1)
        config = {"subagentBackend": "acting"}
        env = HERMETIC | {"PI_SUBAGENT_DEPTH": "1"}
        async with Ohm.open(env=env, config=config, plugins=[backend]) as ohm:
            error = (await ohm.run("finder", "p")).err_value

        assert (error.code, backend.requests) == (ErrorCode.DEPTH_EXCEEDED, [])

    async def test_a_runaway_fan_out_ends_at_the_spawn_limit(self):
        async def act(request, sink):
            if request.description == "root":
                answers = [await ohm.run("finder", f"{n}") for n in range(40)]
                return f"{sum(isinstance(one, Ok) for one in answers)}"
            return "done"

        async with opened(ActingBackend(act), budget={"depth": 2}) as ohm:
            answer = await ohm.run("finder", "p", description="root")

        assert answer.ok_value.output == "32"

    async def test_what_a_program_starts_is_no_spawn(self):
        async with opened(ActingBackend(Provider().act)) as ohm:
            details = await batch(ohm, 50)

        assert details["batch_status"] == "completed"
