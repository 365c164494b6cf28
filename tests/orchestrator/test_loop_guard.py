"""A run that goes in circles is warned, asked to answer, and stopped; the policy is data."""

import anyio
import anyio.lowlevel
import pytest
from acting import ALL, ActingBackend

from ohm_subagents import ErrorCode, LoopPolicy, Ohm
from ohm_subagents.contract import Checkpointed, Overrides, Start, StartItem, TextDelta, ToolEnded, ToolStarted
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

PATH = '{"path": "a.py"}'
SAME = [("read", PATH)] * 12


class Run:
    """Calls tools, one a step of the event loop, and remembers how it was spoken to."""

    def __init__(self, calls, *, results=None, can_finish=True):
        self.calls = calls
        self.results = results
        self.can_finish = can_finish
        self.made = 0
        self.nudged = []
        self.finished = []
        self.inboxes = []

    async def act(self, request, sink):
        self.inboxes.append(request.inbox)
        if request.inbox is None:
            return await self._calls(sink)
        with request.inbox.steered_by(self._steer, self._finish if self.can_finish else None):
            return await self._calls(sink)

    async def _calls(self, sink):
        for number, (tool, args) in enumerate(self.calls):
            sink.emit(ToolStarted(call_id=f"{number}", tool=tool, args=args))
            await anyio.lowlevel.checkpoint()
            self.made += 1
            text = f"{number}" if self.results is None else self.results
            sink.emit(ToolEnded(call_id=f"{number}", tool=tool, status="success", text=text))
            if self.finished:
                return "what I have"
        return "done"

    def _steer(self, text):
        self.nudged.append((self.made, text))
        return True

    def _finish(self, text):
        self.finished.append((self.made, text))
        return True


async def played(run, *, loop=None, capabilities=ALL):
    """The task that `run` became, and its envelope."""
    backend = ActingBackend(run.act, capabilities=capabilities)
    item = StartItem(profile="finder", description="d", prompt="p", overrides=Overrides(loop=loop))
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "acting"}, plugins=[backend]) as ohm:
        reply = await ohm._engine.orchestrator.execute(Start(items=(item,)))
        return reply.items[0].task, ohm.envelope(reply.items[0].task.id)


async def test_the_same_call_five_times_is_warned_the_sixth_asks_to_answer():
    run = Run(SAME)
    task, envelope = await played(run)

    assert [at for at, _ in run.nudged] == [4], "before the fifth was made"
    assert "read was called 5 times in a row" in run.nudged[0][1]
    assert [at for at, _ in run.finished] == [5]
    assert (task.status, task.output) == ("succeeded", "what I have")
    assert len(envelope.diagnostics) == 2


async def test_a_run_that_does_not_listen_is_stopped_with_a_typed_error_and_keeps_its_work():
    run = Run(SAME, can_finish=False)
    task, envelope = await played(run)

    assert (task.status, task.error.code) == ("failed", ErrorCode.LOOP_DETECTED)
    assert run.made == 6, "the seventh call was not made"
    assert envelope.stopped_by == "loop"
    assert envelope.tool_rows[-2:] == [f"○ read {PATH}", "✕ read interrupted"]
    assert envelope.usage.tool_calls == 7


async def test_a_backend_that_cannot_be_steered_is_guarded_too():
    """Nobody can warn it, so nothing is awaited of it: it is stopped, and not asked for an answer before."""
    run = Run(SAME)
    task, _ = await played(run, capabilities=frozenset())

    assert task.error.code == ErrorCode.LOOP_DETECTED
    assert (run.nudged, run.finished, run.inboxes) == ([], [], [None])


async def test_the_order_of_keys_does_not_make_another_call():
    calls = [("read", '{"a": 1, "b": [2]}'), ("read", '{"b": [2],"a":1}')] * 5
    task, _ = await played(Run(calls, can_finish=False))

    assert task.error.code == ErrorCode.LOOP_DETECTED


async def test_two_calls_that_take_turns_are_a_loop():
    run = Run([("read", "a"), ("read", "b")] * 8, can_finish=False)
    task, _ = await played(run)

    assert "took turns 4 times" in run.nudged[0][1]
    assert (task.error.code, run.made) == (ErrorCode.LOOP_DETECTED, 9)


async def test_the_same_result_of_different_calls_is_a_loop():
    run = Run([("grep", f"{n}") for n in range(20)], results="No matches.", can_finish=False)
    task, _ = await played(run)

    assert "gave the same result 10 times in a row" in run.nudged[0][1]
    assert (task.error.code, run.made) == (ErrorCode.LOOP_DETECTED, 12)


@pytest.mark.parametrize(
    "calls",
    [
        [("read", f"{n}") for n in range(40)],
        [("read", "a"), ("read", "b"), ("edit", "b")] * 10,
        [*SAME[:4], ("edit", "x")] * 5,
    ],
    ids=["different calls", "three that take turns", "broken off in time"],
)
async def test_work_that_only_looks_alike_goes_on(calls):
    run = Run(calls)
    task, envelope = await played(run)

    assert (task.output, run.nudged, envelope.diagnostics) == ("done", [], None)


async def test_a_tool_that_is_meant_to_poll_is_exempt():
    task, _ = await played(Run(SAME), loop=LoopPolicy(polling=("read",)))

    assert task.output == "done"


async def test_a_rule_that_is_zero_is_off():
    off = LoopPolicy(identical_calls=0, alternations=0, same_results=0)
    task, _ = await played(Run(SAME, results="same"), loop=off)

    assert task.output == "done"


async def test_a_suite_may_bring_a_policy_of_its_own_that_stops_at_once():
    policy = LoopPolicy(identical_calls=5, alternations=0, same_results=0, steps=("stop",))
    run = Run(SAME)
    task, _ = await played(run, loop=policy)

    assert (task.error.code, run.made, run.nudged, run.finished) == (ErrorCode.LOOP_DETECTED, 4, [], [])


def rule_of_000(count):
    return LoopPolicy(identical_calls=count, alternations=0, same_results=0, steps=("stop",))


def called(*names):
    return [ToolStarted(call_id=f"{n}", tool=name, args=PATH) for n, name in enumerate(names)]


def told(*events, answer="done"):
    """Tells all of it at once, as of one message, and answers."""

    async def act(request, sink):
        await anyio.lowlevel.checkpoint()
        for event in events:
            sink.emit(event)
        return answer

    run = Run([])
    run.act = act
    return run


class TestTheRuleOf000:
    """So many identical calls in a row end the run at once, wherever they are made; nothing else does."""

    @pytest.mark.parametrize("count", [1, 2, 5, 50])
    async def test_the_last_of_so_many_calls_of_one_message_ends_it(self, count):
        task, envelope = await played(told(*called(*["read"] * count)), loop=rule_of_000(count))

        assert (task.status, task.error.code) == ("failed", ErrorCode.LOOP_DETECTED)
        assert (envelope.stopped_by, task.output) == ("loop", "")

    @pytest.mark.parametrize(
        "names",
        [["read"] * 4, [*["read"] * 4, "ls", *["read"] * 4], ["read", "ls"] * 20],
        ids=["one too few", "interrupted", "taking turns"],
    )
    async def test_fewer_in_a_row_do_not(self, names):
        task, envelope = await played(told(*called(*names)), loop=rule_of_000(5))

        assert (task.output, envelope.diagnostics) == ("done", None)

    async def test_calls_of_several_messages_count_together(self):
        def act_of(calls):
            return [event for call in calls for event in (call, TextDelta(text="."))]

        task, _ = await played(told(*act_of(called(*["read"] * 3))), loop=rule_of_000(3))

        assert task.error.code == ErrorCode.LOOP_DETECTED

    async def test_the_same_result_is_no_loop_and_zero_is_off(self):
        task, _ = await played(Run(SAME, results="same"), loop=rule_of_000(0))

        assert task.output == "done"

    async def test_what_is_said_after_it_is_ignored_but_how_open_calls_end(self):
        first, second, third, late = called("read", "read", "read", "ls")
        end = ToolEnded(call_id=second.call_id, tool="read", status="success", text="x")
        after = ToolEnded(call_id=late.call_id, tool="ls", status="success", text="y")
        state = Checkpointed(state="{}")
        events = (first, second, third, late, TextDelta(text="Hm."), end, after, state)
        task, _ = await played(told(*events), loop=rule_of_000(3))

        recorded = [each.event for each in task.activity.events]
        assert recorded[:4] == [first, second, third, end]
        assert [(one.kind, one.status) for one in recorded[4:]] == [("tool_ended", "interrupted")] * 2
        assert (task.text, task.activity.checkpoint) == ("", "{}")


async def test_calls_that_are_made_at_once_take_one_step_together():
    """A model that repeats itself in one turn is warned, and asked to answer in the next: it can read it only then."""
    run = Run(SAME)

    async def act(request, sink):
        with request.inbox.steered_by(run._steer, run._finish):
            for turn in range(2):
                names = [f"{turn}.{n}" for n in range(7)]
                for name in names:
                    sink.emit(ToolStarted(call_id=name, tool="read", args=PATH))
                await anyio.lowlevel.checkpoint()
                for name in names:
                    sink.emit(ToolEnded(call_id=name, tool="read", status="success", text=name))
        return "done"

    run.act = act
    task, _ = await played(run)

    assert (len(run.nudged), len(run.finished), task.output) == (1, 1, "done")


async def test_arguments_that_are_nested_beyond_reason_are_a_call_like_any_other():
    async def act(_request, sink):
        sink.emit(ToolStarted(call_id="1", tool="read", args="[" * 100_000))
        sink.emit(ToolEnded(call_id="1", tool="read", status="error", text="No."))
        await anyio.lowlevel.checkpoint()
        return "done"

    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "acting"}, plugins=[ActingBackend(act)]) as ohm:
        assert (await ohm.run("finder", "x")).unwrap().output == "done"
