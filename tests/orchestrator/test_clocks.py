"""Four clocks: each stops what hangs, none stops what works, and what was done is kept."""

import anyio
import pytest
from acting import ActingBackend

from ohm_subagents import ErrorCode, Limits, Ohm
from ohm_subagents.contract import (
    Clocks,
    FileChanged,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
)
from ohm_subagents.plugin import Capability
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

CALL = ToolStarted(call_id="1", tool="read", args="a.py")
END = ToolEnded(call_id="1", tool="read", status="success", text="x = 1")
WORK = (CALL, END, FileChanged(path="notes.md"), UsageAdded(usage=Usage(requests=1, input_tokens=7)))


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


class Ended:
    """The end of a run: after how long, with which error, and its envelope."""

    def __init__(self, result, envelope, seconds):
        self.error = None if hasattr(result, "ok_value") else result.err_value
        self.envelope = envelope
        self.seconds = seconds

    @property
    def clock(self):
        return self.envelope.stopped_by


async def ended(act, *, limits=None, config=None, capabilities=frozenset()):
    """One run of `act`, to its end."""
    backend = ActingBackend(act, capabilities=capabilities)
    config = {"subagentBackend": "acting", **(config or {})}
    begun = anyio.current_time()

    def stamps():
        return round((anyio.current_time() - begun) * 1000)

    async with Ohm.open(env=HERMETIC, config=config, plugins=[backend], clock=stamps) as ohm:
        result = await ohm.run("finder", "p", limits=limits)
        seconds = anyio.current_time() - begun
        envelope = result.ok_value if hasattr(result, "ok_value") else ohm.envelope(result.err_value.task_id)
    return Ended(result, envelope, seconds)


WORD = TextDelta(text="word ")


def says(*pauses, event=WORD):
    """Says a word after each pause, then hangs."""

    async def act(request, sink):
        for pause in pauses:
            await anyio.sleep(pause)
            sink.emit(event)
        await anyio.sleep_forever()

    return act


def call(sink, number):
    """One like no other."""
    sink.emit(ToolStarted(call_id=f"{number}", tool="read", args=f"{number}"))
    sink.emit(ToolEnded(call_id=f"{number}", tool="read", status="success", text=f"{number}"))


async def hangs(request, sink):
    await anyio.sleep_forever()


async def test_a_backend_that_says_nothing_at_all_is_stopped_by_the_soft_deadline():
    run = await ended(hangs)

    assert (run.clock, run.seconds) == ("soft", 180)
    assert run.error.code == ErrorCode.BACKEND_TIMEOUT
    assert run.envelope.last_progress_at_epoch_ms is None


async def test_a_model_that_falls_silent_is_stopped_by_the_idle_clock_and_the_envelope_says_since_when():
    run = await ended(says(10, 5))

    assert (run.clock, run.seconds) == ("idle", 15 + 180)
    assert "180000 ms" in run.error.message
    assert run.envelope.last_progress_at_epoch_ms == 15_000
    assert run.envelope.assistant_text == "word word"


async def test_a_tool_in_flight_is_no_silence_and_has_a_clock_of_its_own():
    run = await ended(says(10, event=CALL))

    assert (run.clock, run.seconds) == ("tool", 10 + 600)
    assert "read" in run.error.message
    assert run.envelope.tool_rows == ["○ read a.py", "✕ read interrupted"]


async def test_a_chatty_tool_does_not_move_its_own_clock():
    async def act(request, sink):
        sink.emit(CALL)
        while True:
            await anyio.sleep(30)
            sink.emit(ToolUpdated(call_id="1", tool="read", text="still"))

    run = await ended(act)

    assert (run.clock, run.seconds) == ("tool", 600)


async def test_work_goes_on_past_the_soft_deadline_as_long_as_there_is_progress():
    async def act(request, sink):
        for _ in range(20):
            await anyio.sleep(60)
            sink.emit(TextDelta(text="."))
        return "done"

    run = await ended(act)

    assert (run.error, run.seconds) == (None, 1200)


async def test_progress_never_moves_the_cap():
    async def act(request, sink):
        while True:
            await anyio.sleep(70)
            sink.emit(ThinkingDelta(text="hm"))

    run = await ended(act)

    assert (run.clock, run.seconds) == ("cap", 3600)
    assert run.envelope.last_progress_at_epoch_ms == 3_570_000


async def test_an_extension_is_as_long_as_the_soft_limit_at_most():
    run = await ended(says(0.5), limits=Limits(soft_ms=1000))

    assert (run.clock, run.seconds) == ("soft", 1.5)


@pytest.mark.parametrize("clock", ["idle", "tool", "soft", "cap"])
async def test_whichever_clock_stops_a_run_its_partial_work_is_in_the_envelope(clock):
    async def act(request, sink):
        for event in (*WORK, TextDelta(text="so far")):
            sink.emit(event)
        if clock == "tool":
            sink.emit(ToolStarted(call_id="2", tool="bash", args="make"))
        await anyio.sleep_forever()

    others = dict.fromkeys(("idle_ms", "tool_ms", "cap_ms", "soft_ms"), 90_000)
    run = await ended(act, limits=Limits(**others | {f"{clock}_ms": 30_000}))

    assert (run.clock, run.seconds) == (clock, 30)
    assert run.error.code == ErrorCode.BACKEND_TIMEOUT
    assert "30000 ms" in run.error.advice
    envelope = run.envelope
    assert envelope.assistant_text == "so far"
    assert envelope.tool_rows[:2] == ["○ read a.py", "✓ read x = 1"]
    assert (envelope.files, envelope.usage.requests, envelope.usage.input_tokens) == (["notes.md"], 1, 7)
    assert envelope.session_id
    assert envelope.last_progress_at_epoch_ms == 0


async def test_limits_of_a_call_win_key_by_key_over_those_of_its_subagent():
    config = {"subagents": {"finder": {"limits": {"softMs": 7000}}}}

    assert (await ended(hangs, config=config)).seconds == 7
    assert (await ended(hangs, config=config, limits=Limits(idle_ms=1))).seconds == 7
    assert (await ended(hangs, config=config, limits=Limits(soft_ms=3000))).seconds == 3


async def test_a_limit_below_zero_is_a_mistake_of_the_program():
    with pytest.raises(ValueError, match="idle_ms is -1"):
        Limits(idle_ms=-1)


async def test_limits_that_nobody_set_are_all_finite():
    assert Limits().resolved() == Clocks()


class TestTheRuleOf000:
    """soft = its timeout, then an idle timer that every tool call restarts; nothing else does."""

    DAY = dict.fromkeys(("idle_ms", "tool_ms", "cap_ms"), 86_400_000)
    LIMITS = Limits(soft_ms=300_000, extend_ms=30_000, extension="calls", **DAY)

    async def test_without_tool_calls_the_extension_runs_once(self):
        run = await ended(says(290, 20), limits=self.LIMITS)

        assert (run.clock, run.seconds) == ("soft", 330)

    async def test_every_tool_call_after_the_timeout_restarts_it(self):
        async def act(request, sink):
            await anyio.sleep(295)
            for number in range(4):
                await anyio.sleep(25)
                sink.emit(ToolStarted(call_id=f"{number}", tool="read", args=f"{number}"))
            await anyio.sleep_forever()

        run = await ended(act, limits=self.LIMITS)

        assert (run.clock, run.seconds) == ("soft", 395 + 30)

    async def test_calls_before_the_timeout_do_not_matter(self):
        run = await ended(says(100, 100, 99.5, event=CALL), limits=self.LIMITS)

        assert (run.clock, run.seconds) == ("soft", 330)

    @pytest.mark.parametrize(
        "event", [TextDelta(text="."), ThinkingDelta(text="hm"), FileChanged(path="f"), UsageAdded(usage=Usage())]
    )
    @pytest.mark.parametrize("at", [310, 100])
    async def test_what_is_no_call_does_not_restart_it_not_even_as_a_first_word(self, event, at):
        run = await ended(says(at, 320 - at, event=event), limits=self.LIMITS)

        assert (run.clock, run.seconds) == ("soft", 330)

    async def test_a_tool_in_flight_is_no_reason_to_wait_nor_is_its_end(self):
        async def act(request, sink):
            await anyio.sleep(310)
            sink.emit(CALL)
            await anyio.sleep(25)
            sink.emit(ToolUpdated(call_id="1", tool="read", text="still"))
            sink.emit(END)
            await anyio.sleep_forever()

        run = await ended(act, limits=self.LIMITS)

        assert (run.clock, run.seconds) == ("soft", 340)

    async def test_who_ends_in_the_extension_has_succeeded(self):
        async def act(request, sink):
            await anyio.sleep(320)
            sink.emit(CALL)
            await anyio.sleep(29)
            return "late but fine"

        run = await ended(act, limits=self.LIMITS)

        assert (run.error, run.envelope.output, run.seconds) == (None, "late but fine", 349)

    async def test_a_day_is_the_end_of_the_hardest_worker(self):
        async def act(request, sink):
            for number in range(100):
                await anyio.sleep(9_999)
                call(sink, number)

        run = await ended(act, limits=Limits(extend_ms=10_000_000).over(self.LIMITS))

        assert (run.clock, run.seconds) == ("cap", 86_400)

    @pytest.mark.parametrize(
        ("extend_ms", "pauses", "asked_at", "seconds"),
        [
            (30_000, (20,) * 40, [824], 830),
            (30_000, (295, 20, 20, 20), [379], 385),
            (30_000, (10,), [324], 330),
            (300_000, (10,), [570], 600),
            (0, (100, 100, 99), [], 300),
        ],
        ids=[
            "worked far beyond it",
            "worked a little beyond it",
            "fell silent early",
            "a long extension",
            "no extension",
        ],
    )
    async def test_it_is_asked_to_answer_only_while_it_makes_no_calls_after_the_timeout(
        self, extend_ms, pauses, asked_at, seconds
    ):
        asked = []

        async def act(request, sink):
            with request.inbox.steered_by(lambda _prompt: True, lambda text: not asked.append(anyio.current_time())):
                for number, pause in enumerate(pauses):
                    await anyio.sleep(pause)
                    call(sink, number)
                await anyio.sleep_forever()

        begun = anyio.current_time()
        limits = Limits(extend_ms=extend_ms).over(self.LIMITS)
        run = await ended(act, limits=limits, capabilities=frozenset({Capability.STEERING}))

        assert ([at - begun for at in asked], run.seconds) == (asked_at, seconds)

    async def test_without_an_extension_the_timeout_is_the_end(self):
        limits = Limits(extend_ms=0).over(self.LIMITS)

        assert (await ended(says(290), limits=limits)).seconds == 300


class TestFinishing:
    """A backend that can be steered is asked once to answer, before the clock runs out."""

    async def test_a_run_is_asked_to_answer_before_the_cap(self):
        asked = []

        async def act(request, sink):
            done = anyio.Event()

            def finish(text):
                asked.append((anyio.current_time(), text))
                done.set()
                return True

            with request.inbox.steered_by(lambda _prompt: True, finish):
                while not done.is_set():
                    sink.emit(TextDelta(text="."))
                    with anyio.move_on_after(1):
                        await done.wait()
                return "what I have"

        begun = anyio.current_time()
        limits = Limits(soft_ms=60_000, cap_ms=100_000)
        run = await ended(act, limits=limits, capabilities=frozenset({Capability.STEERING}))

        [(at, text)] = asked
        assert (run.error, run.envelope.output, at - begun) == (None, "what I have", 80)
        assert "no tools" in text
        assert any("asked to answer now" in one for one in run.envelope.diagnostics)

    async def test_a_silent_run_is_asked_before_the_soft_deadline_and_stopped_at_it(self):
        asked = []

        async def act(request, sink):
            with request.inbox.steered_by(lambda _prompt: True, lambda text: not asked.append(anyio.current_time())):
                await anyio.sleep_forever()

        begun = anyio.current_time()
        run = await ended(act, limits=Limits(soft_ms=100_000), capabilities=frozenset({Capability.STEERING}))

        assert [at - begun for at in asked] == [80]
        assert (run.clock, run.seconds) == ("soft", 100)

    async def test_a_backend_that_cannot_be_steered_is_just_stopped(self):
        run = await ended(hangs, limits=Limits(soft_ms=100_000))

        assert (run.clock, run.envelope.diagnostics) == ("soft", None)
