"""Whatever a backend returns, emits or raises costs its own run: never a sibling, a record or a later call."""

import sys
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import get_args

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.contract import (
    AgentEnded,
    Category,
    Checkpointed,
    Diagnostic,
    DiagnosticRaised,
    FileChanged,
    Finalized,
    OhmError,
    RouteResolved,
    RunEvent,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
    WorkspaceKept,
)
from ohm_subagents.plugin import BackendSpec, Err, Ok, Options, RunOutput, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

CONFIG = {"subagentBackend": "odd", "subagents": {"asyncStart": "allow"}}


class Panic(BaseException):
    """A panic of a library in Rust."""


class MuteError(Exception):
    def __str__(self):
        raise Panic("no word")

    __repr__ = __str__


class Odd:
    """Answers well, but for the prompt `bad`, which `misdeed` answers once the sibling has begun."""

    def __init__(self, misdeed):
        self._misdeed = misdeed

    async def run(self, request, sink):
        await anyio.lowlevel.checkpoint()
        if request.prompt == "bad":
            return await self._misdeed(request, sink)
        sink.emit(TextDelta(text="fine"))
        return Ok(RunOutput(text="fine"))

    @hookimpl
    def ohm_backends(self):
        @asynccontextmanager
        async def opened(_options):
            yield self

        return [BackendSpec(id="odd", summary="Odd.", options=Options, open=opened)]


def opened(place, misdeed, store, **options):
    config = {**CONFIG, "subagents": {**CONFIG["subagents"], "store": store}}
    env = {"HOME": str(place), "PI_CONFIG_DIR": str(place)}
    return Ohm.open(env=env, config=config, plugins=[Odd(misdeed)], **options)


def started(*prompts):
    tasks = [{"subagent_type": "finder", "description": "d", "prompt": prompt} for prompt in prompts]
    return {"op": "start", "parallel": True, "tasks": tasks}


def is_text(result):
    """Everything that is said can be written down."""
    result.text.encode()
    result.render(expanded=True).encode()
    return True


def remembered(result):
    """Return what every store keeps of an item."""
    names = ("id", "found", "status", "summary", "output", "error_code", "error_category", "error_message")
    return [{name: item.get(name) for name in names} for item in result.details["items"]]


async def suffers_nobody(place, misdeed, store):
    """Play a batch of three whose second breaks its law; give the second item, as told at once and after a restart."""
    async with opened(place, misdeed, store) as ohm:
        batch = await ohm.call("task", started("good", "bad", "good"))
        items = batch.details["items"]
        ids = [item["id"] for item in items]
        later = await ohm.call("task", started("good"))
        looked = await ohm.call("task", {"op": "status", "ids": ids})
        waited = await ohm.call("task", {"op": "wait", "ids": ids})
        alone = await ohm.run("finder", "bad")
    async with opened(place, misdeed, store) as ohm:
        again = await ohm.call("task", {"op": "status", "ids": ids})
        kept = ohm.task(ids[1])
    assert all(is_text(each) for each in (batch, later, looked, waited, again))
    assert [items[0]["status"], items[2]["status"]] == ["succeeded", "succeeded"]
    assert later.details["items"][0]["status"] == "succeeded"
    assert looked.details["items"] == waited.details["items"]
    assert remembered(again) == remembered(looked)
    assert isinstance(alone, Ok | Err)
    assert kept is not None
    assert kept.is_terminal
    return items[1], again.details["items"][1], kept


STORES = pytest.mark.parametrize("store", ["sqlite", "snapshot"])


@pytest.mark.sample(4)
@STORES
@pytest.mark.parametrize(
    "error",
    [
        Panic("rust panicked"),
        SystemExit(3),
        MuteError(),
        BaseExceptionGroup("several", [Panic("a"), SystemExit(1)]),
    ],
    ids=["panic", "exit", "mute", "group"],
)
async def test_what_is_no_exception_costs_its_own_run(tmp_path, store, error):
    async def raises(request, sink):
        sink.emit(TextDelta(text="so far"))
        raise error

    item, again, kept = await suffers_nobody(tmp_path, raises, store)

    assert item["error_code"] == again["error_code"] == ErrorCode.BACKEND_FAILED
    assert type(error).__name__ in item["error_message"]
    assert kept.text == "so far"


@pytest.mark.sample(3)
@STORES
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Ok(RunOutput(text="t", summary=7)), "RunOutput.summary is 7, and has to be a text"),
        (Ok(RunOutput(text="t", exit_code="x")), "RunOutput.exit_code is 'x', and has to be a whole number"),
        (Ok(RunOutput(text="t", exit_code=True)), "RunOutput.exit_code is True"),
        (Err(OhmError(code=5, message="m")), "OhmError.code is 5"),
        (Err(OhmError(code=" ", message="m")), "OhmError.code is ' '"),
        (Err(OhmError(code="c", message="m", category="timeout")), "OhmError.category is 'timeout'"),
        (
            Err(OhmError(code="c", message="m", advice=None)),
            "OhmError.advice is None, and has to be a text. It said: m",
        ),
        (Err("no"), "it returned Err, not a Result of a RunOutput"),
        (None, "it returned NoneType, not a Result of a RunOutput"),
    ],
)
async def test_an_answer_of_wrong_kinds_is_told_of_by_its_field(tmp_path, store, answer, told):
    async def answers(request, sink):
        return answer

    item, again, _ = await suffers_nobody(tmp_path, answers, store)

    assert told in item["error_message"]
    assert again["error_message"] == item["error_message"]


@pytest.mark.sample(4)
@STORES
@pytest.mark.parametrize(
    "record",
    [
        ToolStarted(call_id="", tool=" "),
        ToolUpdated(call_id=" ", tool=""),
        RunOutput(text="t", summary=" "),
        OhmError(code="c", message="m", summary="\n"),
    ],
)
async def test_what_has_no_name_is_kept_all_the_same(tmp_path, store, record):
    item, again, _ = await suffers_nobody(tmp_path, misdeed_of(record), store)
    assert item["summary"].strip()
    assert again["found"]


async def test_the_text_of_an_answer_that_cannot_be_taken_is_kept(tmp_path):
    async def answers(request, sink):
        return Ok(RunOutput(text="all that work", summary=7))

    _, again, kept = await suffers_nobody(tmp_path, answers, "sqlite")

    assert again["assistant_text"] == kept.text == "all that work"


async def test_every_text_of_a_backend_is_bounded(tmp_path):
    """Whatever it says, a model reads no more of it than its output may be, and a few sentences."""

    async def says_a_lot(request, sink):
        for _ in range(3000):
            sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject=LONG, message=LONG)))
        sink.emit(TextDelta(text=LONG))
        sink.emit(ToolStarted(call_id=LONG, tool=LONG, args=LONG))
        return Err(OhmError(code="c", message=LONG, advice=LONG, summary=LONG))

    async with opened(tmp_path, says_a_lot, "memory") as ohm:
        result = await ohm.call("task", started("bad"))
        [item] = result.details["items"]
        whole = ohm.task(item["id"]).text

    assert len(whole) == len(LONG)
    assert len(item["assistant_text"]) == 8000
    assert max(len(item[key]) for key in ("summary", "error_message", "error_advice")) == 2000
    assert len(result.text) + len(result.render()) < 60_000
    assert len(item["diagnostics"]) == 101
    assert item["diagnostics"][-1] == "The backend said more than this: 100 diagnostics of a run are kept."


@pytest.mark.parametrize("count", [99, 100, 101, 102])
async def test_a_run_keeps_a_hundred_diagnostics_and_says_so_only_if_there_were_more(count, tmp_path):
    async def notes(request, sink):
        for number in range(count):
            sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="s", message=f"Note {number}.")))
        return "done"

    async with opened(tmp_path, notes, "memory") as ohm:
        result = await ohm.call("task", started("bad"))
    said = result.details["items"][0]["diagnostics"]
    assert said[:100] == [f"Note {number}." for number in range(min(count, 100))]
    assert len(said[100:]) == (count > 100)
    assert all("said more than this" in one for one in said[100:])


LONG = "a long word " * 100_000
EVENTS = [
    TextDelta(text="a"),
    ThinkingDelta(text="a"),
    ToolStarted(call_id="1", tool="read", args="a"),
    ToolUpdated(call_id="1", tool="read", text="a"),
    ToolEnded(call_id="1", tool="read", status="success", text="a"),
    Finalized(status="SUCCESS", result="a", error="e"),
    FileChanged(path="a"),
    WorkspaceKept(base="b", ref="r", files=1, insertions=2, deletions=3, landed="conflict", conflicts=("c",)),
    RouteResolved(provider="p", model="m", runtime="r", route="x", served_model="s", program="g", program_version="1"),
    UsageAdded(usage=Usage(requests=1)),
    Checkpointed(state="a"),
    DiagnosticRaised(
        diagnostic=Diagnostic(subject="s", message="m", advice="a", severity="info", source="f", line=1, column=2)
    ),
    AgentEnded(),
]
RECORDS = [RunOutput(text="a"), OhmError(code="c", message="m"), *EVENTS, Usage(requests=1), EVENTS[-2].diagnostic]
FIELDS = [(record, field.name) for record in RECORDS for field in fields(record)]


def test_each_event_of_a_backend_is_tried_with_a_value_of_its_own_in_each_field():
    assert {type(one) for one in EVENTS} == {*get_args(RunEvent)}
    declared = [(record, one) for record in (*EVENTS, EVENTS[-2].diagnostic) for one in fields(record)]
    assert [
        one.name for record, one in declared if one.name != "kind" and getattr(record, one.name) == one.default
    ] == []


class Worded(str):
    """A text of another class: what has one is never recorded as it is."""

    __slots__ = ()


@pytest.mark.parametrize("record", EVENTS, ids=lambda record: type(record).__name__)
async def test_nothing_that_is_declared_gets_lost_at_the_door(record):
    """A checked value is made anew, so each field has to be looked at."""
    told = []

    async def emits(request, sink):
        texts = {one.name: getattr(record, one.name) for one in fields(record)}
        sink.emit(replace(record, **{name: Worded(text) for name, text in texts.items() if isinstance(text, str)}))
        return Ok(RunOutput(text="done", exit_code=3, summary="So."))

    class Listening:
        def notify(self, task, event):
            told.append(event)

    async with Ohm.open(env=HERMETIC, config=CONFIG, plugins=[Odd(emits)]) as ohm:
        envelope = (await ohm.run("finder", "bad", observer=Listening())).ok_value
        assert ohm.task(envelope.task_id).runs[0].exit_code == 3
    assert record in told
    assert envelope.summary == "So."


class Hostile:
    """Raises whatever it is asked."""

    def __repr__(self):
        raise Panic("no repr")

    def __eq__(self, other):
        raise Panic("no comparison")

    __hash__ = None


class Tagged(str):
    __slots__ = ()

    def __str__(self):
        raise Panic("no text")


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**60),
    st.floats(),
    st.decimals(allow_nan=True),
    st.fractions(),
    st.complex_numbers(),
    st.binary(max_size=20),
    st.text(st.characters(), max_size=20),
    st.sampled_from(["\ud800", "x\udfff" * 3, "a" * 100_000, "\x00\x1b[31m", "", "success", "ERROR", "error"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from([Hostile(), Tagged("tagged"), object(), int, print, Decimal("sNaN"), Decimal("1E+999999"), float]),
    st.sampled_from([*RECORDS, *Category, *ErrorCode, Ok("x"), Fraction(1, 3), sys.maxsize]),
)


def with_value(record, name, value):
    """The record with this in a field, as if it had never been checked."""
    odd = replace(record)
    object.__setattr__(odd, name, value)
    return odd


def misdeed_of(record):
    async def misdeed(request, sink):
        match record:
            case RunOutput():
                return Ok(record)
            case OhmError():
                return Err(record)
            case Usage():
                sink.emit(UsageAdded(usage=record))
            case Diagnostic():
                sink.emit(DiagnosticRaised(diagnostic=record))
            case _:
                sink.emit(record)
        return Ok(RunOutput(text="done"))

    return misdeed


def anything_in_any_field(name, store, loop, examples):
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(st.sampled_from(FIELDS), ANYTHING)
    def holds(field, value):
        import tempfile

        record = with_value(*field, value)
        with tempfile.TemporaryDirectory() as place:
            anyio.run(suffers_nobody, place, misdeed_of(record), store, backend=loop)

    holds()


LOOPS = pytest.mark.parametrize("loop", ["asyncio", "trio"])


@pytest.mark.sample(2)
@LOOPS
@STORES
def test_any_value_in_any_field_costs_nobody_else_anything(store, loop):
    anything_in_any_field("quick", store, loop, 12)


@STORES
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_any_value_in_any_field_costs_nobody_else_anything_at_length(store):
    anything_in_any_field("slow", store, "asyncio", 50)
