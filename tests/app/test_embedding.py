"""A program embeds us: whole answers as data, public events as JSON, one event loop."""

import asyncio
import json
import re
from decimal import Decimal
from functools import partial
from importlib.metadata import version
from inspect import signature

import anyio
import pytest
from anyio import from_thread, to_thread

from ohm_subagents import (
    ClosedError,
    ErrorCode,
    Handle,
    Ohm,
    WrongEventLoopError,
    __version__,
    event_from_json,
    event_to_json,
    run_sync,
)
from ohm_subagents.contract import (
    Checkpointed,
    Failed,
    Finalized,
    OhmError,
    Succeeded,
    TaskEvent,
    TaskSettled,
    TextDelta,
    Usage,
    UsageAdded,
)
from ohm_subagents.plugin import Profile
from ohm_subagents.testing import Step, quick_ohm

pytestmark = pytest.mark.anyio
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}
BIG = {"title": "t" * 9000}


def typed(schema=SCHEMA):
    return Profile(id="typed", name="Typed", summary="s", prompt="p", finalize="required", result_schema=schema)


def handing_in(result):
    return Step(events=(Finalized(status="SUCCESS", result=result),), text="bye")


async def test_a_program_gets_the_whole_answer_and_a_model_the_cut_one():
    async with quick_ohm(*["x" * 9000] * 3) as ohm:
        ran = (await ohm.run("finder", "look")).ok_value
        waited = (await (await ohm.start("finder", "look")).wait()).ok_value
        called = await ohm.call("task", {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"})
        again = ohm.envelope(ran.task_id)

    assert [len(each.output) for each in (ran, waited, again)] == [9000] * 3
    assert [each.output_truncated for each in (ran, waited, again)] == [False] * 3
    assert called.details["output_truncated"] is True
    assert "data" not in called.details


@pytest.mark.parametrize(
    ("schema", "result", "data"),
    [(SCHEMA, json.dumps(BIG), BIG), ({"type": "integer"}, "5", 5), (None, '{"a":1}', None), (SCHEMA, "no JSON", None)],
)
async def test_an_answer_with_a_schema_is_data_however_long_it_is(schema, result, data):
    async with quick_ohm(handing_in(result), handing_in(result), profiles=[typed(schema)]) as ohm:
        ran = (await ohm.run("typed", "do")).ok_value
        waited = (await (await ohm.start("typed", "do")).wait()).ok_value

        assert (ran.data, waited.data, ohm.envelope(ran.task_id).data) == (data, data, data)


async def test_the_events_of_a_handle_hold_no_conversation_unless_it_is_asked_for():
    gate = anyio.Event()
    spoken = {}

    async def listen(handle, *, with_checkpoints):
        events = handle.events(with_checkpoints=with_checkpoints)
        spoken[with_checkpoints] = [event.kind async for event in events]

    first = Step(text="done", gate=gate)
    said = Step(events=(TextDelta(text="a"), Checkpointed(state="the system prompt")), text="done")
    in_turn = {"subagents": {"maxRunning": 1}}
    async with quick_ohm(first, said, config=in_turn) as ohm, anyio.create_task_group() as group:
        await ohm.start("finder", "be first")
        handle = await ohm.start("finder", "look")
        for with_checkpoints in (False, True):
            group.start_soon(partial(listen, handle, with_checkpoints=with_checkpoints))
        await anyio.wait_all_tasks_blocked()
        gate.set()

    assert "text_delta" in spoken[False]
    assert [kind for kind in spoken[True] if kind not in spoken[False]] == ["checkpointed"]


async def test_every_public_event_is_plain_json_and_a_cost_is_a_number():
    cost = UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.0123")))
    async with quick_ohm(Step(events=(TextDelta(text="a"), cost), text="done")) as ohm:
        handle = await ohm.start("finder", "look")
        written = [json.loads(json.dumps(event_to_json(event))) async for event in handle.events()]

    assert {"version": 1, "kind": "text_delta", "text": "a"} in written
    assert [each["usage"]["cost_usd"] for each in written if each["kind"] == "usage_added"] == [0.0123]


EVENTS = [
    TextDelta(text="a"),
    UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.0123"))),
    TaskSettled(outcome=Failed(error=OhmError(code=ErrorCode.TASK_ABORTED, message="No."))),
    TaskSettled(outcome=Succeeded()),
    Checkpointed(state="[1]"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_an_event_that_was_written_is_read_as_it_was(event):
    read = event_from_json(json.loads(json.dumps(event_to_json(event, with_state=True))))
    assert read == event


def test_the_conversation_of_a_backend_is_written_only_where_it_is_asked_for():
    event = TaskEvent(task_id="task_1", at_ms=7, event=Checkpointed(state="the system prompt"))
    written = event_to_json(event)
    assert written == {"version": 1, "task_id": "task_1", "at_ms": 7, "kind": "checkpointed"}
    assert event_from_json(written) == Checkpointed(state="")
    assert event_to_json(event, with_state=True)["state"] == "the system prompt"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"version": 2, "kind": "text_delta", "text": "a"},
            "The event has version 2; this release reads version 1.",
        ),
        ({"kind": "text_delta"}, "This is no event: text_delta.text Field required"),
        ({"kind": "applause"}, "This is no event:  Input tag 'applause' found using 'kind' does not match"),
    ],
)
def test_what_is_no_event_is_refused_in_one_sentence(fields, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        event_from_json(fields)


async def soon(method, *arguments):
    return method(*arguments)


USES = {
    "run": lambda ohm, _: ohm.run("finder", "x"),
    "start": lambda ohm, _: ohm.start("finder", "x"),
    "call": lambda ohm, _: ohm.call("list_todos", {}),
    "begin": lambda ohm, _: ohm.begin("list_todos", {}),
    "handle": lambda ohm, handle: soon(ohm.handle, handle.id),
    "all_events": lambda ohm, _: soon(ohm.events),
    "emit": lambda ohm, _: ohm.emit("session_start"),
    "reconfigure": lambda ohm, _: ohm.reconfigure(),
    "warm_up": lambda ohm, _: ohm.warm_up(),
    "wait": lambda _, handle: handle.wait(),
    "send": lambda _, handle: handle.send("more"),
    "cancel": lambda _, handle: handle.cancel(),
    "events": lambda _, handle: anext(handle.events()),
}


@pytest.mark.parametrize("used", USES)
async def test_whatever_is_used_in_a_foreign_event_loop_says_so_at_once_and_does_nothing(used):
    async with quick_ohm("mine", "and mine", suites=["task", "todos"]) as ohm:
        handle = await ohm.start("finder", "look")
        await handle.wait()
        with pytest.raises(WrongEventLoopError, match=r"another thread or event loop.*ohm\.from_thread\.run"):
            await to_thread.run_sync(lambda: asyncio.run(USES[used](ohm, handle)))
        answer = await ohm.run("finder", "look")

    assert answer.ok_value.output == "and mine", "the body of the host goes on"


async def test_a_worker_thread_hands_its_call_over():
    async with quick_ohm("done") as ohm:
        answer = await to_thread.run_sync(lambda: from_thread.run(ohm.run, "finder", "look"))

    assert answer.ok_value.output == "done"


async def test_a_closed_ohm_says_so_whatever_is_asked_of_it():
    async with quick_ohm("done") as ohm:
        handle = await ohm.start("finder", "look")
        await handle.wait()
    for use in USES.values():
        with pytest.raises(
            ClosedError,
            match=r"^This Ohm is closed; use it inside `async with Ohm\.open\(\.\.\.\)`, or before `aclose`\.$",
        ):
            await use(ohm, handle)


def test_the_version_and_the_types_that_a_program_names_are_public():
    assert __version__ == version("ohm-subagents")
    assert signature(Ohm.start).return_annotation == f"{Handle.__name__}[DataT]"


@pytest.fixture
async def standing():
    async with quick_ohm("done") as ohm:
        yield ohm


async def test_a_fixture_of_the_pytest_plugin_of_anyio_may_hold_an_ohm_open(standing):
    assert (await standing.run("finder", "look")).ok_value.output == "done"


async def test_whoever_reads_late_is_told_how_it_ended():
    failure = OhmError(code="broken", message="No luck.")
    async with quick_ohm("done", Step(error=failure)) as ohm:
        ends = []
        for prompt in ("well", "badly"):
            handle = await ohm.start("finder", prompt)
            await handle.wait()
            ends.append([event async for event in handle.events()][-1])

    assert ends[0] == TaskSettled(outcome=Succeeded())
    assert ends[1].outcome.error.message == "No luck."


async def test_a_script_inside_of_an_event_loop_is_told_what_to_use():
    with pytest.raises(RuntimeError, match=r"inside of an event loop; there: `async with Ohm\.open\(\)"):
        run_sync("finder", "look")


@pytest.mark.parametrize(
    ("option", "advice"),
    [("limits", "Ohm.run has it: `with Ohm.sync() as ohm: ohm.run(…)`."), ("modle", "Did you mean 'model'?")],
)
def test_an_option_that_run_sync_has_not_is_refused_in_its_name(option, advice):
    with pytest.raises(TypeError) as refused:
        run_sync("finder", "look", **{option: None})
    assert str(refused.value) == f"run_sync() got an unexpected keyword argument '{option}'. {advice}"
