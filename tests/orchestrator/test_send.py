"""Follow-ups: each is one run, answered once, and harms nothing that was found before (task-v1, 22)."""

from contextlib import asynccontextmanager

import anyio
import pytest

from ohm_subagents import ErrorCode
from ohm_subagents.contract import OhmError, RouteResolved, TextDelta
from ohm_subagents.testing import EventLog, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio

BROKEN = OhmError(code="broken", message="It broke.")


class Conversation:
    """A task whose first run waits for `gate`, and follow-ups that were sent meanwhile."""

    def __init__(self, ohm, backend, log, gate, group):
        self.ohm = ohm
        self.backend = backend
        self.log = log
        self.gate = gate
        self.group = group
        self.replies = {}
        self.texts = {}

    async def send(self, prompt, **extra):
        result = await self.ohm.call("task", {"op": "send", "id": "task_1", "prompt": prompt}, **extra)
        self.replies[prompt], self.texts[prompt] = result.details, result.text

    async def asked(self, **arguments):
        return (await self.ohm.call("task", arguments)).details

    async def runs(self, count):
        """Until so many runs have begun."""
        await self.log.until(lambda task, event: len(task.runs) == count and event.kind == "run_started")


@asynccontextmanager
async def conversation(*follow_ups, events=()):
    """On leaving, every follow-up is answered and the task settled."""
    log, gate = EventLog(), anyio.Event()
    backend = ScriptedBackend(Step(text="first answer", events=events, gate=gate), *follow_ups)
    async with quick_ohm(backend=backend, plugins=[log]) as ohm:
        handle = await ohm.start("finder", "look", description="scan")
        async with anyio.create_task_group() as group:
            talk = Conversation(ohm, backend, log, gate, group)
            await talk.runs(1)
            yield talk
        await handle.wait()


async def test_a_follow_up_is_the_next_run_and_is_in_the_history_once():
    async with conversation("second answer") as talk:
        talk.group.start_soon(talk.send, "and?")
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()
    task, reply = talk.ohm.task("task_1"), talk.replies["and?"]

    first, second = talk.backend.calls
    assert (first.prompt, second.prompt) == ("look", "and?")
    assert [(one.prompt, one.output) for one in second.history] == [("look", "first answer")]
    assert (first.task_id, first.session_id) == (second.task_id, second.session_id)
    assert [(run.prompt, run.output) for run in task.runs] == [("look", "first answer"), ("and?", "second answer")]
    assert (reply["op"], reply["task_id"], reply["output"]) == ("send", "task_1", "second answer")
    assert reply["prompt"] == "look"


async def test_follow_ups_run_in_the_order_in_which_they_came():
    async with conversation("1", "2", "3") as talk:
        for prompt in ("one", "two", "three"):
            talk.group.start_soon(talk.send, prompt)
            await anyio.wait_all_tasks_blocked()
        talk.gate.set()

    assert [request.prompt for request in talk.backend.calls] == ["look", "one", "two", "three"]
    assert {prompt: reply["output"] for prompt, reply in talk.replies.items()} == {"one": "1", "two": "2", "three": "3"}
    assert talk.replies["one"]["status"] == "running"


async def test_a_follow_up_to_a_queued_item_becomes_its_second_run():
    gate, log, results = anyio.Event(), EventLog(), {}
    backend = ScriptedBackend(Step(text="a", gate=gate), "b", "b again")
    tasks = [{"subagent_type": "finder", "description": f"d{n}", "prompt": f"p{n}"} for n in (1, 2)]
    async with quick_ohm(backend=backend, plugins=[log]) as ohm:

        async def call(name, payload):
            results[name] = (await ohm.call("task", payload)).details

        async with anyio.create_task_group() as group:
            group.start_soon(call, "batch", {"op": "start", "tasks": tasks})
            await log.until(lambda _task, event: event.kind == "run_started")
            group.start_soon(call, "send", {"op": "send", "id": "task_2", "prompt": "and?"})
            await anyio.wait_all_tasks_blocked()
            assert ohm.task("task_2").status == "queued"
            gate.set()

    assert [request.prompt for request in backend.calls] == ["p1", "p2", "and?"]
    assert results["send"]["output"] == "b again"
    assert [item["status"] for item in results["batch"]["items"]] == ["succeeded", "succeeded"]
    assert results["batch"]["batch_status"] == "completed"


async def test_a_failing_follow_up_keeps_the_first_answer():
    async with conversation(Step(error=BROKEN)) as talk:
        talk.group.start_soon(talk.send, "and?")
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()
    task, reply, envelope = talk.ohm.task("task_1"), talk.replies["and?"], talk.ohm.envelope("task_1")

    assert (reply["status"], reply["error_code"], reply["error_message"]) == ("failed", "broken", "It broke.")
    assert (task.status, task.output, envelope.output) == ("succeeded", "first answer", "first answer")
    assert envelope.diagnostics == ["A follow-up failed: It broke."]


@pytest.mark.parametrize("message", ["", "  ", "\n"])
async def test_an_error_without_a_message_fails_its_task_like_any_other(message):
    async with quick_ohm(Step(error=OhmError(code="broken", message=message))) as ohm:
        error = (await ohm.run("finder", "p")).err_value
        task = ohm.task("task_1")

    assert (error.code, error.message) == ("broken", "Failed with broken and no message.")
    assert (task.status, task.summary) == ("failed", error.message)


async def test_a_follow_up_that_its_backend_gives_up_is_cancelled_and_harms_nothing():
    given_up = OhmError(code=ErrorCode.TASK_ABORTED, message="The backend gave up.")
    async with conversation(Step(error=given_up)) as talk:
        talk.group.start_soon(talk.send, "and?")
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()
    task = talk.ohm.task("task_1")

    assert [run.outcome.kind for run in task.runs] == ["succeeded", "cancelled"]
    assert (task.status, task.output) == ("succeeded", "first answer")
    assert "error_code" not in talk.replies["and?"]


async def test_an_aborted_follow_up_stops_its_own_run_only():
    abort = anyio.Event()
    async with conversation(Step(gate=anyio.Event())) as talk:

        async def send():
            await talk.send("and?", abort=abort)

        talk.group.start_soon(send)
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()
        await talk.runs(2)
        abort.set()
    task = talk.ohm.task("task_1")

    assert [run.outcome.kind for run in task.runs] == ["succeeded", "cancelled"]
    assert (task.status, task.output) == ("succeeded", "first answer")


async def test_an_aborted_follow_up_that_no_run_has_taken_is_forgotten():
    abort = anyio.Event()
    async with conversation() as talk:

        async def send():
            await talk.send("and?", abort=abort)

        talk.group.start_soon(send)
        await anyio.wait_all_tasks_blocked()
        abort.set()
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()

    assert [run.prompt for run in talk.ohm.task("task_1").runs] == ["look"]


@pytest.mark.parametrize(
    "follow_up",
    [
        Step(text="too late", events=(TextDelta(text="so far"),), delay_s=1000),
        Step(error=BROKEN, events=(TextDelta(text="so far"),), delay_s=1000),
    ],
    ids=["answers", "fails"],
)
async def test_a_cancel_reaches_a_follow_up_in_flight(follow_up):
    async with conversation(follow_up) as talk:
        talk.group.start_soon(talk.send, "and?")
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()
        await talk.log.until(lambda _task, event: event.kind == "text_delta")
        cancelled = (await talk.ohm.call("task", {"op": "cancel", "id": "task_1"})).details
    task, reply = talk.ohm.task("task_1"), talk.replies["and?"]

    applied = [cancelled[name] for name in ("cancel_applied", "prior_status", "status")]
    assert applied == [True, "running", "cancelled"]
    assert (reply["op"], reply["status"]) == ("send", "cancelled")
    assert "error_code" not in reply
    assert [run.outcome.kind for run in task.runs] == ["succeeded", "cancelled"]


async def test_a_task_settles_only_when_every_follow_up_is_answered():
    second = anyio.Event()
    async with conversation(Step(text="second answer", gate=second)) as talk:
        talk.group.start_soon(talk.send, "and?")
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()
        await talk.runs(2)
        between = talk.ohm.envelope("task_1")
        second.set()

    assert (between.status, between.summary) == ("running", "Continuing Finder: scan")
    assert talk.log.kinds().count("task_settled") == 1
    assert talk.log.kinds()[-1] == "task_settled"
    assert talk.replies["and?"]["output"] == "second answer"


async def test_the_route_of_the_newest_run_stands():
    first = RouteResolved(provider="acme", model="big", runtime="r1", route="here")
    follow_up = Step(events=(RouteResolved(model="small"),), text="b")
    async with conversation(follow_up, events=(first,)) as talk:
        talk.group.start_soon(talk.send, "and?")
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()

    reply = talk.replies["and?"]
    assert [reply[name] for name in ("provider", "model", "runtime", "route")] == ["acme", "small", "r1", "here"]


async def test_a_follow_up_to_a_finished_task_is_refused_and_changes_nothing():
    async with quick_ohm("done") as ohm:
        await ohm.run("finder", "p")
        before = ohm.envelope("task_1")
        details = (await ohm.call("task", {"op": "send", "id": "task_1", "prompt": "and?"})).details
        after = ohm.envelope("task_1")

    assert (details["error_code"], details["task_id"]) == ("task_not_resumable", "task_1")
    assert details["error_message"] == "Task 'task_1' is terminal (succeeded) and cannot be resumed"
    assert after == before
