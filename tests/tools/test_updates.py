"""Progress frames of a call: how many, when, what they say; and none twice."""

from itertools import pairwise

import anyio
import pytest
from acting import ActingBackend

from ohm_subagents import Err, ErrorCode, Ohm, OhmError
from ohm_subagents.contract import TextDelta, ToolEnded, ToolStarted
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio

START = {"op": "start", "subagent_type": "finder", "description": "Auth scan", "prompt": "Trace auth"}
READ = ToolStarted(call_id="1", tool="read", args="a.py")
DONE = ToolEnded(call_id="1", tool="read", status="success", text="ok")


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


class Watch:
    """Frames with the time at which each came, in milliseconds."""

    def __init__(self):
        self.began = anyio.current_time()
        self.frames, self.times = [], []

    def __call__(self, frame):
        self.frames.append(frame)
        self.times.append(round((anyio.current_time() - self.began) * 1000))

    def of(self, key):
        return [frame.details[key] for frame in self.frames]


def opened(act, **options):
    numbers = iter(range(1, 100))
    return Ohm.open(
        env=HERMETIC,
        config={"subagentBackend": "acting", **options.pop("config", {})},
        plugins=[ActingBackend(act)],
        clock=lambda: round(anyio.current_time() * 1000),
        new_task_id=lambda: f"task_{next(numbers)}",
        **options,
    )


async def watched(act, arguments=START, **options):
    async with opened(act, **options) as ohm:
        watch = Watch()
        result = await ohm.call("task", arguments, on_update=watch)
    return watch, result


async def reads(_request, sink):
    await anyio.sleep(1)
    sink.emit(READ)
    await anyio.sleep(60)
    sink.emit(DONE)
    await anyio.sleep(1)
    sink.emit(TextDelta(text="It is in\nauth.py"))
    await anyio.sleep(1)
    return "auth.py has it"


def text(status, line, *rows, spinner):
    tree = [f"  {spinner} Finder · Auth scan", "    ├── Trace auth", *rows]
    return "\n".join([status, f"{spinner} finder · Auth scan · {line}", "", *tree, "task_id: task_1"])


async def test_a_frame_shows_spinner_prompt_tool_rows_and_how_far_it_is():
    watch, result = await watched(reads)

    rows = ["    ├── ○ read a.py", "    ├── ✓ read ok"]
    working, said = "    ╰── Working...", ("    ╰── It is in", "        auth.py")
    one = "subagents 1 running · tools {} active · done 0 · failed 0 · cancelled 0"
    assert [frame.text for frame in watch.frames[:-1]] == [
        text(one.format(0), "00:00 · tools 0/0", working, spinner="⠋"),
        text(one.format(1), "00:01 · tools 1/1", rows[0], working, spinner=spinner_at(1000)),
        text(one.format(0), "01:01 · tools 0/1", *rows, working, spinner=spinner_at(61_000)),
        text(one.format(0), "01:02 · tools 0/1", *rows, *said, spinner=spinner_at(62_000)),
    ]
    assert watch.frames[-1].text.endswith(f"\n\n{result.render()}")
    assert watch.times == [0, 1000, 61_000, 62_000, 63_000]
    assert watch.of("duration_ms") == [0, 1000, 61_000, 62_000, 63_000]
    assert watch.of("summary")[:-1] == ["Starting Finder: Auth scan"] * 4
    activity = [frame.details.get("activity") for frame in watch.frames]
    assert activity == [None, "○ read a.py", "✓ read ok", "auth.py", None]
    assert not any("background" in frame.text + frame.render() for frame in watch.frames)


SCAN = {"op": "start", "subagent_type": "finder", "description": "Auth flow scan", "prompt": "Trace auth validation"}
RUNNING = """\
  ⠋ Finder · Auth flow scan
    ├── Trace auth validation
    ├── ✓ Read packages/subagents/src
    ├── ✓ Grep auth|token in packages/subagents/src
    ╰── Working...
task_id: task_1"""
DONE_WELL = """\
  ✓ Finder · Auth flow scan
    ├── Trace auth validation
    ├── ✓ Read packages/subagents/src
    ├── ✓ Grep auth|token in packages/subagents/src
    ╰── Auth validation path uses task permission policy + runtime store transitions."""
BROKEN_OFF = """\
  ✕ Finder · Auth flow scan
    ├── Trace auth validation
    ╰── Task failed: backend timeout while reading repository files."""


async def test_the_blocks_of_the_documentation_are_drawn_letter_by_letter():
    async def scans(_request, sink):
        sink.emit(ToolEnded(call_id="1", tool="Read", status="success", text="packages/subagents/src"))
        await anyio.sleep(1.2)  # then the spinner has turned once
        sink.emit(ToolEnded(call_id="2", tool="Grep", status="success", text="auth|token in packages/subagents/src"))
        return "Auth validation path uses task permission policy + runtime store transitions."

    async def breaks(_request, _sink):
        message = "Task failed: backend timeout while reading repository files."
        return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message=message))

    watch, result = await watched(scans, SCAN)
    assert (watch.frames[-2].render(), result.render()) == (RUNNING, DONE_WELL)
    assert (await watched(breaks, SCAN))[1].render() == BROKEN_OFF


def spinner_at(ms):
    return "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[ms // 120 % 10]


@pytest.mark.parametrize("mode", [None, "off", "compact"])
async def test_the_head_of_a_frame_is_there_unless_a_host_shows_it(mode):
    options = {} if mode is None else {"host": MemoryHost(), "config": {"uiMode": mode}}
    watch, _ = await watched(reads, **options)
    is_headed = [frame.text != frame.render() for frame in watch.frames]
    assert is_headed == [mode != "compact"] * 5


async def streams(_request, sink):
    for word in range(40):
        sink.emit(TextDelta(text=f"{word} "))
        await anyio.sleep(0.03)
    await anyio.sleep(0.005)
    return "done"


@pytest.mark.parametrize(
    ("throttle_ms", "times"),
    [(120, [*range(0, 1201, 120)]), (300, [*range(0, 1201, 300)]), (10, [0, 10, *range(30, 1200, 30)])],
)
async def test_frames_keep_the_pace_and_the_last_one_is_the_result(throttle_ms, times):
    watch, result = await watched(streams, config={"onupdateThrottleMs": throttle_ms})

    assert watch.times == [*times, 1205]
    assert all(one.details != other.details for one, other in pairwise(watch.frames))
    assert watch.frames[-1].details == result.details
    assert [len(frame.details.get("assistant_text", "").split()) for frame in watch.frames][-1] == 40


async def test_nothing_new_is_no_frame():
    async def is_still(_request, _sink):
        await anyio.sleep(100)
        return "done"

    watch, _ = await watched(is_still)
    assert (watch.times, watch.of("status")) == ([0, 100_000], ["running", "succeeded"])


async def test_a_step_that_came_too_soon_is_shown_in_time():
    async def stops(_request, sink):
        await anyio.sleep(0.05)
        sink.emit(READ)
        await anyio.sleep(10)
        return "done"

    watch, _ = await watched(stops)
    assert watch.times == [0, 120, 10_050]
    assert watch.of("tool_rows") == [[], ["○ read a.py"], ["○ read a.py"]]


async def test_a_batch_shows_all_of_its_items_from_the_start():
    async def sleeps(request, sink):
        sink.emit(ToolStarted(call_id="1", tool="read", args=request.prompt))
        await anyio.sleep(1 if request.prompt == "a" else 2)
        return request.prompt * 3

    tasks = [{**START, "prompt": prompt, "description": prompt} for prompt in "ab"]
    for task in tasks:
        del task["op"]
    watch, _ = await watched(sleeps, {"op": "start", "parallel": True, "tasks": tasks})

    assert watch.of("op") == ["start"] * len(watch.frames)
    assert [[item["status"] for item in items] for items in watch.of("items")][-1] == ["succeeded", "succeeded"]
    early, later = watch.frames[1].text, watch.frames[-2].text
    for prompt in "ab":
        assert f"  {spinner_at(watch.times[1])} Finder · {prompt}\n    ├── {prompt}\n    ├── ○ read {prompt}\n" in early
        assert f"finder · {prompt} · 00:00 · tools 1/1" in early
    assert "  ✓ Finder · a\n" in later
    assert "    ╰── aaa\n" in later
    assert watch.of("batch_status")[:-1] == ["accepted"] * (len(watch.frames) - 1)


async def test_a_cancel_shows_one_frame_whether_it_is_applied_or_not():
    async with opened(reads, config={"subagents": {"asyncStart": "allow"}}) as ohm:
        await ohm.call("task", START | {"async": True})
        watches = []
        for _ in range(2):
            watches.append(Watch())
            await ohm.call("task", {"op": "cancel", "id": "task_1"}, on_update=watches[-1])

    assert [watch.of("cancel_applied") for watch in watches] == [[True], [False]]


@pytest.mark.parametrize(
    "arguments", [{"op": "status", "ids": ["x"]}, {"op": "send", "id": "x", "prompt": "p"}, {"op": 1}]
)
async def test_what_comes_to_nothing_shows_nothing(arguments):
    watch, _ = await watched(reads, arguments)
    assert watch.frames == []


async def test_the_text_of_a_result_does_not_depend_on_the_time():
    async with opened(reads, config={"subagents": {"asyncStart": "allow"}}) as ohm:
        await ohm.call("task", START | {"async": True})
        texts = set()
        for _ in range(5):
            await anyio.sleep(0.13)
            result = await ohm.call("task", {"op": "status", "id": "task_1"})
            texts |= {result.text, result.render()}

    assert texts == {"  ⠋ Finder · Auth scan\n    ├── Trace auth\n    ╰── Working..."}
