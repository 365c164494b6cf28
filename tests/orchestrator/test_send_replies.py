"""The reply to a follow-up is about its own run, and the reply to a start about its own prompt, in text and details."""

from contextlib import asynccontextmanager
from decimal import Decimal

import anyio
import pytest
from acting import ActingBackend

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.contract import (
    Diagnostic,
    DiagnosticRaised,
    FileChanged,
    FollowUpTaken,
    OhmError,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)
from ohm_subagents.testing import HERMETIC, EventLog, ScriptedBackend, Step

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


def now_ms():
    return round(anyio.current_time() * 1000)


START = {"op": "start", "subagent_type": "finder", "description": "scan", "prompt": "look"}


def work(name, *, cost=None):
    """Return what a run does that is called so."""
    return (
        TextDelta(text=f"{name} says"),
        ToolStarted(call_id=name, tool="read", args=f"{name}.py"),
        ToolEnded(call_id=name, tool="read", status="success", text=f"{name} read"),
        FileChanged(path=f"{name}.txt"),
        UsageAdded(usage=Usage(requests=1, input_tokens=10, output_tokens=1, cost_usd=cost)),
        DiagnosticRaised(diagnostic=Diagnostic(subject="x", message=f"{name} noted")),
    )


class Talk:
    """A start that waits for `gate`, and the replies to it and to the follow-ups that were sent meanwhile."""

    def __init__(self, ohm, log, gate, group):
        self.ohm, self.log, self.gate, self.group = ohm, log, gate, group
        self.replies = {}

    async def call(self, name, arguments, **extra):
        self.replies[name] = await self.ohm.call("task", arguments, **extra)

    async def send(self, prompt, **extra):
        self.group.start_soon(lambda: self.call(prompt, {"op": "send", "id": "task_1", "prompt": prompt}, **extra))
        await anyio.wait_all_tasks_blocked()

    async def runs(self, count):
        await self.log.until(lambda task, event: len(task.runs) == count and event.kind == "run_started")
        await anyio.wait_all_tasks_blocked()

    @property
    def taken(self):
        return [event.prompt for _, event in self.log.entries if isinstance(event, FollowUpTaken)]

    def of(self, name, *keys):
        return tuple(self.replies[name].details.get(key) for key in keys)


@asynccontextmanager
async def talk_of(*follow_ups, first=None, **config):
    """A started task; on leaving, everybody has a reply."""
    log, gate = EventLog(), anyio.Event()
    first = first or Step(text="first answer", summary="First.", events=work("first", cost=Decimal(1)), gate=gate)
    backend, config = ScriptedBackend(first, *follow_ups), {"subagentBackend": "scripted", **config}
    opened = Ohm.open(
        env=HERMETIC, config=config, plugins=[backend, log], clock=now_ms, new_task_id=iter(["task_1"]).__next__
    )
    async with opened as ohm, anyio.create_task_group() as group:
        talk = Talk(ohm, log, gate, group)
        group.start_soon(talk.call, "start", START)
        await talk.runs(1)
        yield talk
        await log.until(lambda _task, event: event.kind == "task_settled")


async def test_a_reply_has_the_answer_the_work_and_the_cost_of_its_own_run():
    second = Step(text="second answer", summary="Second.", events=work("second", cost=Decimal("0.5")), delay_s=1)
    async with talk_of(second) as talk:
        await talk.send("and?")
        talk.gate.set()

    keys = ("status", "summary", "output", "tool_rows", "event_count", "assistant_text", "files", "diagnostics")
    assert talk.of("start", *keys) == (
        *("succeeded", "First.", "first answer", ["○ read first.py", "✓ read first read"], 3, "first says"),
        *(["first.txt"], ["first noted"]),
    )
    assert talk.of("and?", *keys) == (
        *("succeeded", "Second.", "second answer", ["○ read second.py", "✓ read second read"], 3, "second says"),
        *(["second.txt"], ["second noted"]),
    )
    assert [talk.of(name, "usage")[0]["cost_usd"] for name in ("start", "and?")] == ["1", "0.5"]
    assert [talk.of(name, "usage")[0]["requests"] for name in ("start", "and?")] == [1, 1]
    assert talk.of("and?", "duration_ms")[0] >= 1000 > talk.of("start", "duration_ms")[0]
    assert "first" not in talk.replies["and?"].text
    assert "second" not in talk.replies["start"].text


async def test_an_unpriced_follow_up_has_no_price():
    async with talk_of(Step(text="b", events=work("b"))) as talk:
        await talk.send("and?")
        talk.gate.set()

    assert talk.of("and?", "usage")[0].get("cost_usd") is None


async def test_a_start_is_answered_as_soon_as_its_own_prompt_is():
    second = anyio.Event()
    async with talk_of(Step(text="second answer", gate=second)) as talk:
        await talk.send("and?")
        talk.gate.set()
        await talk.runs(2)
        told = talk.of("start", "status", "output", "event_count")
        status = talk.ohm.task("task_1").status
        second.set()

    assert (told, status) == (("succeeded", "first answer", 3), "running")
    assert talk.of("and?", "status", "output") == ("succeeded", "second answer")


async def test_a_start_that_is_aborted_during_a_follow_up_of_others_leaves_it_alone():
    abort, log, gate, second = anyio.Event(), EventLog(), anyio.Event(), anyio.Event()
    backend = ScriptedBackend(Step(text="first answer", gate=gate), Step(text="second answer", gate=second))
    opened = Ohm.open(
        env=HERMETIC,
        config={"subagentBackend": "scripted"},
        plugins=[backend, log],
        clock=now_ms,
        new_task_id=iter(["task_1"]).__next__,
    )
    async with opened as ohm, anyio.create_task_group() as group:
        talk = Talk(ohm, log, gate, group)
        group.start_soon(lambda: talk.call("start", START, abort=abort))
        await talk.runs(1)
        await talk.send("and?")
        gate.set()
        await talk.runs(2)
        abort.set()
        await anyio.wait_all_tasks_blocked()
        told = talk.of("start", "status", "output")
        second.set()

    assert told == ("succeeded", "first answer")
    assert talk.of("and?", "status", "output") == ("succeeded", "second answer")
    assert ohm.task("task_1").status == "succeeded"


async def test_a_task_that_is_closed_during_a_follow_up_is_what_its_own_prompt_came_to():
    log, gate = EventLog(), anyio.Event()
    backend = ScriptedBackend(Step(text="first answer", gate=gate), Step(text="late", gate=anyio.Event()))
    async with anyio.create_task_group() as group:
        config = {"subagentBackend": "scripted"}
        async with Ohm.open(env=HERMETIC, config=config, plugins=[backend, log], clock=now_ms) as ohm:
            talk, handle = Talk(ohm, log, gate, group), await ohm.start("finder", "look")
            await talk.runs(1)
            group.start_soon(handle.send, "and?")
            await anyio.wait_all_tasks_blocked()
            gate.set()
            await talk.runs(2)
    task, _ = log.entries[-1]

    assert (task.status, task.output) == ("succeeded", "first answer")
    assert [run.outcome.kind for run in task.runs] == ["succeeded", "cancelled"]


async def test_who_looks_or_waits_gets_the_answer_to_the_prompt():
    async with talk_of("second answer") as talk:
        await talk.send("and?")
        talk.gate.set()
    task = talk.ohm.task("task_1")

    assert (task.output, task.summary) == ("first answer", "First.")
    assert [(run.output, run.is_follow_up) for run in task.runs] == [("first answer", False), ("second answer", True)]


GIVEN_UP = OhmError(code=ErrorCode.TASK_ABORTED, message="The backend gave up.")
BROKEN = OhmError(code="broken", message="It broke.", advice="Mend it.")


@pytest.mark.parametrize(
    ("follow_up", "details", "line"),
    [
        (Step(text="second answer"), ("succeeded", True, "second answer", None), "  ✓ Finder · scan"),
        (Step(text=""), ("succeeded", False, None, None), "  ✓ Finder · scan"),
        (Step(error=GIVEN_UP), ("cancelled", False, None, None), "  ○ Finder · scan"),
        (Step(error=BROKEN), ("failed", False, None, "broken"), "  ✕ Finder · scan"),
        (Step(crash=RuntimeError("bang")), ("failed", False, None, ErrorCode.BACKEND_FAILED), "  ✕ Finder · scan"),
    ],
    ids=["answered", "empty", "given up", "failed", "crashed"],
)
async def test_a_follow_up_is_told_as_what_it_was(follow_up, details, line):
    async with talk_of(follow_up) as talk:
        await talk.send("and?")
        talk.gate.set()
    reply, keys = talk.replies["and?"], ("status", "output_available", "output", "error_code")

    assert talk.of("and?", *keys) == details
    assert reply.text.splitlines()[0] == reply.render().splitlines()[0] == line
    assert "first answer" not in reply.text + reply.render(expanded=True)
    assert reply.is_error == (details[0] != "succeeded")
    assert reply.details["summary"] in reply.text or details[0] == "succeeded"
    assert talk.of("start", "status", "output", "error_code") == ("succeeded", "first answer", None)
    assert (talk.ohm.task("task_1").status, talk.ohm.task("task_1").summary) == ("succeeded", "First.")


async def test_a_cancel_during_a_follow_up_takes_nothing_from_who_started():
    async with talk_of(Step(text="late", events=work("second"), delay_s=1000)) as talk:
        await talk.send("and?")
        talk.gate.set()
        await talk.runs(2)
        await talk.call("cancel", {"op": "cancel", "id": "task_1"})
    keys = ("status", "output_available", "output", "assistant_text")

    assert talk.of("start", *keys) == ("succeeded", True, "first answer", "first says")
    assert talk.of("and?", *keys) == ("cancelled", False, None, "second says")
    assert talk.of("cancel", "status", "cancel_applied", "output") == ("cancelled", True, "first answer")
    assert talk.of("and?", "summary") == ("Cancelled Finder: scan",)


async def test_a_follow_up_that_is_aborted_in_flight_says_so_and_keeps_its_work():
    abort = anyio.Event()
    async with talk_of(Step(events=work("second"), delay_s=1000)) as talk:
        await talk.send("and?", abort=abort)
        talk.gate.set()
        await talk.runs(2)
        abort.set()

    told = talk.of("and?", "status", "summary", "assistant_text", "tool_rows", "output_available")
    summary = "The caller stopped waiting, and the follow-up was stopped."
    assert told == ("cancelled", summary, "second says", ["○ read second.py", "✓ read second read"], False)
    assert f"    ╰── {summary}\n" in talk.replies["and?"].text
    assert talk.replies["and?"].text.startswith("  ○ Finder · scan")
    assert "second says" in talk.replies["and?"].text


async def test_a_follow_up_that_is_aborted_before_its_turn_says_so():
    abort = anyio.Event()
    async with talk_of() as talk:
        await talk.send("and?", abort=abort)
        abort.set()
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()

    told = talk.of("and?", "status", "summary", "tool_rows", "usage", "output_available")
    summary = "The caller stopped waiting before the follow-up was taken."
    assert told == ("cancelled", summary, [], None, False)
    assert talk.replies["and?"].text.endswith(f"    ╰── {summary}")
    assert talk.replies["and?"].text.startswith("  ○ Finder · scan")


async def test_a_follow_up_whose_task_is_cancelled_before_its_turn_is_cancelled():
    async with talk_of() as talk:
        await talk.send("and?")
        await talk.call("cancel", {"op": "cancel", "id": "task_1"})

    assert talk.of("and?", "status", "summary", "tool_rows") == ("cancelled", "Cancelled Finder: scan", [])
    assert talk.of("start", "status", "assistant_text") == ("cancelled", "first says")


async def test_each_of_several_follow_ups_has_its_own_summary_and_status():
    async with talk_of("A", "B") as talk:
        await talk.send("one")
        await talk.send("two")
        talk.gate.set()

    keys = ("status", "summary", "output")
    assert talk.of("one", *keys) == ("running", "Finder follow-up: one", "A")
    assert talk.of("two", *keys) == ("succeeded", "Finder follow-up: two", "B")
    assert "A" in talk.replies["one"].text


async def test_a_follow_up_that_succeeds_after_a_failed_prompt_carries_no_error():
    async with talk_of("better", first=Step(error=BROKEN, delay_s=1)) as talk:
        await talk.send("and?")

    assert talk.of("start", "status", "error_code") == ("failed", "broken")
    assert talk.of("and?", "status", "output", "error_code") == ("succeeded", "better", None)
    assert "It broke." not in talk.replies["and?"].text


async def test_what_stopped_a_follow_up_is_told_of_it_alone():
    async with talk_of(Step(text="late", delay_s=1000), backendTimeoutMs=60_000) as talk:
        await talk.send("and?")
        talk.gate.set()

    assert talk.of("and?", "status", "error_code", "stopped_by") == ("failed", "task_backend_timeout", "soft")
    assert talk.of("start", "status", "stopped_by") == ("succeeded", None)


async def test_the_answer_to_a_follow_up_is_capped_like_any_other():
    async with talk_of("x" * 50, outputMaxChars=10) as talk:
        await talk.send("and?")
        talk.gate.set()

    keys = ("output", "output_truncated", "output_total_chars", "output_returned_chars")
    assert talk.of("and?", *keys) == ("x" * 10, True, 50, 10)
    assert "x" * 11 not in talk.replies["and?"].text


async def test_the_frames_of_a_follow_up_tell_of_its_own_run():
    frames = []
    async with talk_of(Step(text="b", events=work("second"), delay_s=10)) as talk:
        await talk.send("and?", on_update=frames.append)
        talk.gate.set()

    assert frames[0].details["status"] == "queued"
    assert {row for frame in frames for row in frame.details["tool_rows"]} == {"○ read second.py", "✓ read second read"}
    assert frames[-1].details == talk.replies["and?"].details


@asynccontextmanager
async def steered(offers=None):
    """A task whose first run takes every follow-up until `talk.gate` is set, or only gets `offers` of them."""
    log, gate = EventLog(), anyio.Event()

    async def act(request, sink):
        inbox = request.inbox
        if request.prompt != "look":
            return f"answer to {request.prompt}"
        with inbox.offered_to(lambda *offer: offers.append(offer)) if offers is not None else inbox.steered_by(bool):
            await gate.wait()
        sink.emit(TextDelta(text="both"))
        return "answer to both"

    opened = Ohm.open(
        env=HERMETIC,
        config={"subagentBackend": "acting"},
        plugins=[ActingBackend(act), log],
        clock=now_ms,
        new_task_id=iter(["task_1"]).__next__,
    )
    async with opened as ohm, anyio.create_task_group() as group:
        talk = Talk(ohm, log, gate, group)
        group.start_soon(talk.call, "start", START)
        await talk.runs(1)
        yield talk


async def test_a_follow_up_that_the_open_run_takes_is_told_of_that_run():
    async with steered() as talk:
        await talk.send("and?")
        talk.gate.set()

    keys = ("status", "summary", "output", "event_count")
    assert talk.of("and?", *keys) == ("succeeded", "Finder follow-up: and?", "answer to both", 1)
    assert talk.of("start", *keys) == ("succeeded", "Finder: scan", "answer to both", 1)


async def test_a_follow_up_that_the_open_run_has_taken_goes_on_without_its_caller():
    abort = anyio.Event()
    async with steered() as talk:
        await talk.send("and?", abort=abort)
        abort.set()
        await anyio.wait_all_tasks_blocked()
        talk.gate.set()

    summary = "The caller stopped waiting; the run that has taken the follow-up goes on."
    assert talk.of("and?", "status", "summary") == ("running", summary)
    assert f"    ╰── {summary}" in talk.replies["and?"].text
    assert talk.of("start", "status", "output") == ("succeeded", "answer to both")


async def test_an_offer_may_be_answered_later_and_the_next_one_follows_it():
    async with steered(offers := []) as talk:
        await talk.send("and?")
        await talk.send("then?")
        assert [text for text, _ in offers] == ["and?"]
        assert talk.taken == []
        offers[0][1](True)
        assert [text for text, _ in offers] == ["and?", "then?"]
        offers[1][1](True)
        offers[1][1](False)
        talk.gate.set()

    assert talk.taken == ["and?", "then?"]
    assert talk.of("and?", "output") == talk.of("then?", "output") == ("answer to both",)


async def test_an_offer_that_is_refused_or_never_answered_becomes_the_next_run():
    async with steered(offers := []) as talk:
        await talk.send("and?")
        await talk.send("then?")
        offers[0][1](False)
        assert [text for text, _ in offers] == ["and?"]
        talk.gate.set()
        await talk.runs(3)
        offers[0][1](True)

    assert talk.taken == []
    assert (talk.of("and?", "output"), talk.of("then?", "output")) == (("answer to and?",), ("answer to then?",))


async def test_an_offer_that_waits_for_its_answer_when_the_run_ends_becomes_the_next_run():
    async with steered(offers := []) as talk:
        await talk.send("and?")
        talk.gate.set()

    assert [text for text, _ in offers] == ["and?"]
    assert talk.of("and?", "output") == ("answer to and?",)
