"""The account of a tree of tasks: each task knows what it used itself, and what the tasks below it used."""

import gc
import logging
import sys
from dataclasses import replace
from decimal import Decimal

import anyio
import pytest
from acting import ActingBackend
from recorded_spans import RecordedSpans

from ohm_subagents import Ohm
from ohm_subagents.contract import AccountCharged, Budget, TaskQueued, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.store import TaskQuery
from ohm_subagents.testing import HERMETIC
from ohm_subagents.views import task_fact_lines, task_list_lines, total_line

pytestmark = pytest.mark.anyio

USED = Usage(requests=1, input_tokens=100, output_tokens=50, cost_usd=Decimal("0.25"))


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


def opened(*plugins, **subagents):
    budget = {"depth": 9, "spawns": 1000}
    config = {"subagentBackend": "acting", "subagents": {"budget": budget, **subagents}}
    return Ohm.open(env=HERMETIC, config=config, plugins=plugins)


def work(sink, *, requests=1, tools=()):
    for _ in range(requests):
        sink.emit(UsageAdded(usage=USED))
    for number, tool in enumerate(tools):
        sink.emit(ToolStarted(call_id=f"{number}", tool=tool))
        sink.emit(ToolEnded(call_id=f"{number}", tool=tool, status="success"))


class Nest:
    """A backend whose task of depth n starts `width` tasks of depth n - 1, and uses something itself."""

    def __init__(self, width):
        self.width = width
        self.ohm = None

    async def act(self, request, sink):
        work(sink, tools=("read",))
        left = int(request.prompt)
        if left:
            async with anyio.create_task_group() as group:
                for _ in range(self.width):
                    group.start_soon(self.ohm.run, "finder", f"{left - 1}")
        work(sink)
        return "done"


async def test_a_task_has_what_all_tasks_below_it_used_at_any_depth():
    nest = Nest(width=2)
    async with opened(ActingBackend(nest.act)) as nest.ohm:
        await nest.ohm.run("finder", "2")
        tasks = [*nest.ohm.store.tasks()]

    root = tasks[0]
    assert len(tasks) == 1 + 2 + 4
    assert root.activity.usage == USED + USED + Usage(tool_calls=1)
    assert root.activity.tree_usage == sum((task.activity.usage for task in tasks), Usage())
    assert [task.activity.tree_usage.requests for task in tasks if task.assignment.parent == root.id] == [6, 6]
    assert {task.activity.account.below for task in tasks[1:] if task.assignment.prompt == "0"} == {None}


async def test_the_tree_of_a_task_that_still_runs_is_known():
    seen = []

    async def act(request, sink):
        if request.prompt == "child":
            work(sink, tools=("read",))
            seen.append(ohm.task(seen[0]).activity.tree_usage)
            return "done"
        seen.append(request.task_id)
        await ohm.run("finder", "child")
        return "done"

    async with opened(ActingBackend(act)) as ohm:
        await ohm.run("finder", "parent")

    assert seen[1:] == [USED + Usage(tool_calls=1)]


async def test_a_charge_is_an_event_of_each_task_above_and_none_of_a_task_without_one():
    events = []

    class Observer:
        def notify(self, task, event):
            if isinstance(event, AccountCharged | TaskQueued):
                events.append((task.assignment.prompt, event))

    nest = Nest(width=1)
    async with opened(ActingBackend(nest.act)) as nest.ohm:
        await nest.ohm.run("finder", "2", observer=Observer())

    charges = [(prompt, event.usage) for prompt, event in events if isinstance(event, AccountCharged) and event.usage]
    assert [prompt for prompt, _ in charges] == ["2"] * 6
    assert charges.count(("2", USED)) == 4


async def test_a_call_that_is_cut_off_was_made_and_counts_once():
    async def act(request, sink):
        sink.emit(ToolStarted(call_id="1", tool="read"))
        if request.prompt == "child":
            raise RuntimeError
        await ohm.run("finder", "child")
        sink.emit(ToolEnded(call_id="1", tool="read", status="success"))
        return "done"

    async with opened(ActingBackend(act)) as ohm:
        await ohm.run("finder", "parent")
        parent, child = ohm.store.tasks()

    assert (parent.activity.usage.tool_calls, child.activity.usage.tool_calls) == (1, 1)
    assert parent.activity.tree_usage.tool_calls == 2


async def test_a_child_that_ends_with_its_parent_leaves_nothing_uncounted():
    async def act(request, sink):
        work(sink)
        sink.emit(ToolStarted(call_id="1", tool="read"))
        if request.prompt == "parent":
            await ohm.start("finder", "child")
            await anyio.sleep(1)
            return "done"
        return await anyio.sleep_forever()

    async with opened(ActingBackend(act)) as ohm:
        await ohm.run("finder", "parent")
        parent, child = ohm.store.tasks()

    assert (parent.status, child.status) == ("succeeded", "cancelled")
    assert parent.activity.tree_usage == parent.activity.usage + child.activity.usage


async def test_a_follow_up_of_a_settled_child_counts_for_the_task_that_sent_it_and_nothing_counts_twice():
    async def act(request, sink):
        work(sink)
        if request.prompt == "parent":
            child = (await ohm.run("finder", "child")).unwrap()
            await ohm.call("task", {"op": "send", "id": child.task_id, "prompt": "more"})
        return "done"

    async with opened(ActingBackend(act), sendToFinished="resume") as ohm:
        await ohm.run("finder", "parent")
        parent, child, resumed = ohm.store.tasks()

    assert resumed.assignment.resumed_from == child.id
    assert [task.activity.usage.requests for task in (parent, child, resumed)] == [1, 1, 1]
    assert parent.activity.tree_usage.requests == 3


class TestShown:
    """The same numbers in envelopes, lists, texts, spans and log lines."""

    @pytest.fixture
    async def ohm(self):
        nest = Nest(width=2)
        async with opened(ActingBackend(nest.act)) as nest.ohm:
            await nest.ohm.run("finder", "1")
            yield nest.ohm

    async def test_the_envelope_has_both_where_something_ran_below_and_plain_counts_where_nothing_did(self, ohm):
        root, child, _ = (ohm.envelope(task.id) for task in ohm.store.tasks())
        counts = {"input_tokens": 200, "output_tokens": 100, "cached_tokens": 0}
        own = {"requests": 2, **counts, "tool_calls": 1, "cost_usd": "0.50"}
        tree = {"requests": 6, "input_tokens": 600, "output_tokens": 300, "cached_tokens": 0, "tool_calls": 3}
        assert child.payload()["usage"] == own
        assert root.payload()["usage"] == own | {"own": own, "tree": tree | {"cost_usd": "1.50"}}

    async def test_a_list_has_both_and_its_total_counts_nothing_twice(self, ohm):
        listed = [one.unwrap() for one in ohm.store.list(TaskQuery())]
        root = listed[-1]
        assert (root.usage.requests, root.tree_usage.requests) == (2, 6)
        assert {one.parent for one in listed[:-1]} == {root.id}
        (_, line), (_, below) = (task_list_lines(one, now_ms=0, with_cost=True) for one in (root, listed[0]))
        assert "$0.5000 · 2 requests · 200 tokens in (0 cached), 100 out · 1 tool call · with below: " in line
        assert "tree" not in below
        assert total_line(listed).startswith("3 tasks in all: $1.5000 · 6 requests · 600 tokens in")
        assert any(
            fact.startswith("with below    $1.5000 · 6 requests")
            for fact in task_fact_lines(ohm.task(root.id), now_ms=0)
        )


async def test_what_is_left_is_on_the_span_and_while_the_task_works_in_the_list_with_costs(monkeypatch):
    spans, nest = RecordedSpans(monkeypatch), Nest(width=1)
    async with opened(ActingBackend(nest.act)) as nest.ohm:
        await nest.ohm.run("finder", "1", budget=Budget(requests=10, tokens=1000, cost_usd=2))
        listed = [one.unwrap() for one in nest.ohm.store.list(TaskQuery())]

    settled, at_work = listed[-1], replace(listed[-1], status="running", ended_ms=None)
    told = [task_list_lines(one, now_ms=0, with_cost=cost)[1] for one in (at_work, settled) for cost in (True, False)]
    assert told[0].endswith(" · left: $1.0000 · 6 requests · 400 tokens · 999 tasks")
    assert ["left" in line for line in told] == [True, False, False, False]
    root = spans.named("invoke_agent finder")[-1].attributes
    left = {name.removeprefix("ohm.remaining."): root[name] for name in root if name.startswith("ohm.remaining.")}
    assert left == {"requests": 6, "tokens": 400, "cost_usd": 1.0, "spawns": 999}


async def test_spans_and_log_lines_have_the_usage_of_the_task_and_of_its_tree(monkeypatch, caplog):
    spans, nest = RecordedSpans(monkeypatch), Nest(width=1)
    caplog.set_level(logging.INFO, logger="ohm_subagents")
    async with opened(ActingBackend(nest.act)) as nest.ohm:
        await nest.ohm.run("finder", "1")

    child, root = spans.named("invoke_agent finder")
    assert (root.attributes["ohm.usage.requests"], root.attributes["ohm.tree.usage.requests"]) == (2, 4)
    assert (child.attributes["ohm.usage.requests"], child.attributes["ohm.tree.usage.requests"]) == (2, 2)
    assert root.attributes["ohm.tree.usage.cost_usd"] == 1.0
    settled = [record for record in caplog.records if record.message == "task.settled"]
    assert [(one.usage["requests"], one.tree_usage["requests"]) for one in settled] == [(2, 2), (2, 4)]


async def work_of_a_charge(*, depth, siblings, kept):
    """Count the function calls of one usage event at this depth of a tree, beside tasks that are kept or run."""
    counted, done = [], anyio.Event()

    async def act(request, sink):
        left = int(request.prompt)
        if left < 0:
            await done.wait()
        elif left:
            async with anyio.create_task_group() as group:
                for _ in range(siblings):
                    group.start_soon(ohm.run, "finder", "-1")
                await anyio.sleep(1)
                await ohm.run("finder", f"{left - 1}")
        else:
            sink.emit(UsageAdded(usage=USED))
            gc.disable()  # what it would free is not the work of a charge
            sys.setprofile(lambda _frame, kind, _arg: counted.append(kind) if kind == "call" else None)
            sink.emit(UsageAdded(usage=USED))
            sys.setprofile(None)
            gc.enable()
            done.set()
        return "done"

    async with opened(ActingBackend(act), taskMaxConcurrency=1000) as ohm:
        done.set()
        for _ in range(kept):
            await ohm.run("finder", "-1")
        done = anyio.Event()
        await ohm.run("finder", f"{depth}")
    return len(counted)


async def test_a_charge_costs_the_same_however_many_tasks_are_kept_or_run_and_a_step_more_for_each_task_above():
    alone = await work_of_a_charge(depth=1, siblings=0, kept=0)
    assert await work_of_a_charge(depth=1, siblings=0, kept=150) == alone
    assert await work_of_a_charge(depth=1, siblings=40, kept=0) == alone
    deeper = [await work_of_a_charge(depth=depth, siblings=0, kept=0) - alone for depth in (2, 3, 4)]
    assert deeper == [deeper[0], 2 * deeper[0], 3 * deeper[0]]
