"""Whatever callers do, in whatever order, to whatever backends: what a task promises holds.

Time is virtual. The examples are the same on every run; `OHM_EXAMPLES=2000` asks for that many, and for new ones.
"""

import json
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import count
from operator import attrgetter

import anyio
import pytest
import trio.testing
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents._store.memory import MemoryStore
from ohm_subagents._views.projection import project_task
from ohm_subagents.contract import OhmError, TextDelta, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.plugin import hookimpl
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

CAP = 8000
LIMIT = 4
EXAMPLES = os.environ.get("OHM_EXAMPLES")
TERMINAL = {"succeeded", "failed", "cancelled"}
MOVES = {"queued": {"queued", "running", "cancelled"}, "running": {"running", *TERMINAL}}
COUNTERS = attrgetter("requests", "input_tokens", "output_tokens", "cached_tokens", "tool_calls")


# What backends do


@dataclass(frozen=True)
class Act:
    """One run: a step, and whether it goes on for its time although it was told to stop."""

    step: Step
    deaf: bool = False


EVENTS = st.lists(
    st.sampled_from(
        [
            TextDelta(text="said "),
            ToolStarted(call_id="1", tool="read", args="a.py"),
            ToolEnded(call_id="1", tool="read", status="success"),
            ToolStarted(call_id="2", tool="bash"),
            UsageAdded(usage=Usage(requests=1, input_tokens=7, output_tokens=3)),
        ]
    ),
    max_size=4,
).map(tuple)
ENDINGS = st.one_of(
    st.just({"text": "an answer"}),
    st.just({"text": ""}),
    st.just({"error": OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke.")}),
    st.just({"error": OhmError(code="odd_payload_code", message=" ")}),
    st.just({"error": OhmError(code=ErrorCode.TASK_ABORTED, message="It gave up.")}),
    st.just({"crash": RuntimeError("a bug")}),
)
DELAYS = st.sampled_from([0, 2, 5, 9, 300])  # the last one is beyond the limit of a run
ACTS = st.builds(
    lambda events, ending, delay, deaf: Act(Step(events=events, delay_s=delay, **ending), deaf),
    EVENTS,
    ENDINGS,
    DELAYS,
    st.booleans(),
)


class Stage(ScriptedBackend):
    """Plays acts, counts the runs that are in it, and keeps every sink that it was ever given."""

    def __init__(self, acts: list[Act]) -> None:
        super().__init__(*(act.step for act in acts), default=Step(text="done"))
        self._deaf = iter([act.deaf for act in acts])
        self.running = 0
        self.peak = 0
        self.left = []

    async def run(self, request, sink):
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            with anyio.CancelScope(shield=next(self._deaf, False)):
                return await super().run(request, sink)
        finally:
            self.running -= 1
            self.left.append(sink)

    def talk_on(self) -> None:
        """Emit events that nobody should get any more."""
        for sink in self.left:
            sink.emit(TextDelta(text="one more thing"))


# What callers do

AT = st.integers(1, 6)
PROFILES = st.sampled_from(["finder", "finder", "oracle", " Finder ", "nobody"])
REF = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 9])  # the task at that place, if there are so many
REFS = st.lists(REF, min_size=1, max_size=3)
ONE_REF = REF.map(lambda ref: (ref,))
NO_REF = st.just(())
PATIENCE = st.sampled_from([None, None, 1, 4])


@dataclass(frozen=True)
class Call:
    """One call of the tool at a moment, and when its caller aborts it or goes away."""

    at: int
    payload: dict
    refs: tuple[int, ...] = ()
    abort_after: int | None = None
    leave_after: int | None = None
    shows: bool = False


def calls(payloads, refs=NO_REF):
    return st.builds(
        lambda at, payload, refs, abort, leave, shows: Call(at, payload, tuple(refs), abort, leave, shows),
        AT,
        payloads,
        refs,
        PATIENCE,
        PATIENCE,
        st.booleans(),
    )


def item(profile, number):
    return {"subagent_type": profile, "description": f"d{number}", "prompt": f"p{number}"}


NUMBERED = st.builds(item, PROFILES, st.integers(0, 9))
SINGLE = st.builds(lambda one, background: {"op": "start", "async": background, **one}, NUMBERED, st.booleans())
BATCH = st.builds(
    lambda tasks, parallel, background: {"op": "start", "tasks": tasks, "parallel": parallel, "async": background},
    st.lists(NUMBERED, min_size=1, max_size=4),
    st.booleans(),
    st.booleans(),
)
WAIT = st.sampled_from([{"op": "wait"}, {"op": "wait", "timeout_ms": 1}, {"op": "wait", "timeout_ms": 3000}])
SEND = st.just({"op": "send", "prompt": "and?"})
STARTS = st.one_of(calls(SINGLE), calls(BATCH))
OTHERS = st.one_of(
    calls(SEND, ONE_REF),
    calls(st.just({"op": "cancel"}), ONE_REF),
    calls(WAIT, REFS),
    calls(st.just({"op": "status"}), REFS),
    STARTS,
)
CALLS = st.builds(lambda first, rest: [replace(first, at=0), *rest], STARTS, st.lists(OTHERS, min_size=1, max_size=7))


# What has to hold


@dataclass(eq=False)
class Records:
    """An observer that checks every step of every task, and keeps what a task was when it settled."""

    states: dict = field(default_factory=dict)
    settled: dict = field(default_factory=dict)
    broken: list = field(default_factory=list)

    @hookimpl
    def ohm_observers(self):
        return [self]

    def notify(self, task, event):
        try:
            self.check(task, event)
        except AssertionError as error:  # the engine survives an observer that raises
            self.broken.append((event.kind, error))

    def check(self, task, event):
        before = self.states.get(task.id)
        if task.id in self.settled:
            assert event.kind in {"usage_added", "account_charged"}, "a settled task changed"
            now = project_task(task, output_max_chars=CAP).payload()
            assert without_usage(now) == without_usage(self.settled[task.id]), "more than its usage"
        if before is not None:
            assert task.status in ({before.status} if before.is_terminal else MOVES[before.status])
            counts = zip(COUNTERS(task.activity.usage), COUNTERS(before.activity.usage), strict=True)
            assert all(now >= then for now, then in counts)
            assert (task.activity.event_total, task.updated_ms) >= (before.activity.event_total, before.updated_ms)
        self.states[task.id] = task
        if task.is_terminal:
            assert not task.activity.open_calls
            assert all(run.outcome is not None for run in task.runs)
            self.settled[task.id] = project_task(task, output_max_chars=CAP).payload()


def without_usage(payload):
    """The rest of an envelope: the last request of a cancelled task may be counted when that has settled."""
    return {key: value for key, value in payload.items() if key != "usage"}


def check_reply(payload, details):
    """Check the promises of every envelope, a frame or a result."""
    json.dumps(details)
    assert (details["contract_version"], details["op"]) == ("task.v1", payload["op"])
    assert details["status"] in TERMINAL | set(MOVES)
    assert ("error_code" in details) == ("error_category" in details) == ("error_message" in details)
    asked = payload.get("tasks") or payload.get("ids")
    if asked is not None:
        assert len(details["items"]) == len(asked)
    if "tasks" in payload:
        check_batch(payload["tasks"], details)


def check_batch(asked, details):
    items = details["items"]
    found = [one for one in items if one["found"]]
    assert [one["description"] for one in items] == [one["description"] for one in asked]
    assert [one["found"] for one in items] == [one["subagent_type"] != "nobody" for one in asked]
    assert details["total_count"] == len(asked) == details["accepted_count"] + details["rejected_count"]
    assert details["accepted_count"] == len(found)
    statuses = Counter(one["status"] for one in found)
    if not found:
        expected = "rejected"
    elif statuses.keys() - TERMINAL:
        expected = "accepted"
    else:
        expected = "completed" if statuses["succeeded"] == len(asked) else "partial"
    assert details["batch_status"] == expected
    assert (details["status"] == "succeeded") == (expected == "completed")


async def carry_out(ohm, call, ids):
    """One caller: its call, and its patience."""
    await anyio.sleep(call.at)
    known = [ids[ref] if ref < len(ids) else "task_0" for ref in call.refs]
    several = call.payload["op"] in {"status", "wait"}
    refs = {} if not known else {"ids": known} if several else {"id": known[0]}
    payload = call.payload | refs
    abort = anyio.Event()
    frames = []
    async with anyio.create_task_group() as group:
        if call.abort_after is not None:
            group.start_soon(after, call.abort_after, abort.set)
        with anyio.move_on_after(call.leave_after):
            result = await ohm.call("task", payload, on_update=frames.append if call.shows else None, abort=abort)
            check_reply(payload, result.details)
            if payload["op"] == "start" and not payload["async"]:
                answers = result.details.get("items", [result.details])
                assert {one.get("status", "failed") for one in answers} <= TERMINAL, "a start returns what has ended"
            assert result.text
            assert result.render(expanded=True)
            assert result.render(expanded=False)
            event(f"{payload['op']}: {result.details.get('error_code', result.details['status'])}")
        group.cancel_scope.cancel()
    for frame in frames:
        check_reply(payload, frame.details)


async def after(seconds, act):
    await anyio.sleep(seconds)
    act()


def tried(examples):
    """Some days of any script and any callers."""
    chosen = settings(
        max_examples=int(EXAMPLES or examples),
        derandomize=EXAMPLES is None,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow],
    )
    days = given(
        acts=st.lists(ACTS, max_size=6),
        script=CALLS,
        finished=st.sampled_from(["refuse", "resume"]),
        waits_for_all=st.booleans(),
        chatty=st.booleans(),
    )
    return lambda test: chosen(days(test))


@tried(40)
def test_what_a_task_promises_holds_for_any_script_and_any_callers(acts, script, finished, waits_for_all, chatty):
    promises_hold(acts, script, finished, waits_for_all, chatty)


@pytest.mark.slow
@tried(250)
def test_what_a_task_promises_holds_for_many_more_of_them(acts, script, finished, waits_for_all, chatty):
    promises_hold(acts, script, finished, waits_for_all, chatty)


def promises_hold(acts, script, finished, waits_for_all, chatty):
    async def main():
        stage, records, ids = Stage(acts), Records(), []
        store = MemoryStore(lambda: 0)
        numbers = count(1)

        def new_id():
            ids.append(f"task_{next(numbers)}")
            return ids[-1]

        subagents = {"asyncStart": "allow", "sendToFinished": finished, "maxRunning": LIMIT}
        config = {"subagentBackend": "scripted", "subagents": subagents}
        async with Ohm.open(
            env=HERMETIC,
            config=config,
            plugins=[stage, records],
            store=store,
            new_task_id=new_id,
            clock=lambda: int(anyio.current_time() * 1000),
        ) as ohm:
            async with anyio.create_task_group() as group:
                for call in script:
                    group.start_soon(carry_out, ohm, call, ids)
            if waits_for_all and ids:
                waited = await ohm.call("task", {"op": "wait", "ids": ids})
                assert (waited.details["done"], waited.details["wait_status"]) == (True, "completed")
                assert records.settled.keys() == set(ids)
            if chatty:
                stage.talk_on()
            closing = anyio.current_time()
        if not any(act.deaf for act in acts):
            assert anyio.current_time() == closing, "closing stops what still runs"
        assert anyio.current_time() <= closing + 5, "and waits for nobody who does not listen"
        return stage, records, ids, store

    async def watched():
        before = len(anyio.get_running_tasks())
        stage, records, ids, store = await main()
        await anyio.sleep(sum(act.step.delay_s for act in acts if act.deaf))
        assert len(anyio.get_running_tasks()) == before, "a background task outlived its Ohm"
        return stage, records, ids, store

    clock = trio.testing.MockClock(autojump_threshold=0)
    stage, records, ids, store = anyio.run(watched, backend="trio", backend_options={"clock": clock})

    assert records.broken == []
    assert stage.running == 0
    assert stage.peak <= LIMIT
    assert len(ids) == len(set(ids))
    assert records.settled.keys() == set(ids), "every accepted task settles"
    stage.talk_on()
    now = {task.id: project_task(task, output_max_chars=CAP).payload() for task in store.tasks()}
    assert now == records.settled, "a settled task never changes"
