"""A session as a suite reads it: every task of it that is kept, with all that happened."""

import anyio
import pytest
from another_process import another_process
from surface import item, mounted

from ohm_subagents import ErrorCode
from ohm_subagents.contract import Start, TextDelta, ToolEnded, ToolStarted
from ohm_subagents.plugin import ClosedError
from ohm_subagents.testing import HERMETIC, Step

pytestmark = pytest.mark.anyio

SESSION = "a3f7b9c2d1e8f4a1"
CALL = (
    ToolStarted(call_id="1", tool="read", args='{"path":"a.py"}'),
    ToolEnded(call_id="1", tool="read", status="success", text="x = 1"),
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


def kept_in(folder):
    return HERMETIC | {"PI_CONFIG_DIR": str(folder), "OHM_SUBAGENTS_STORE": "sqlite"}


def told(kept):
    return [(one.task.assignment.prompt, one.task.status, [each.event.kind for each in one.history]) for one in kept]


async def test_the_tasks_of_a_session_come_oldest_first_with_their_history(tmp_path):
    began, ended = ["task_queued", "run_started"], ["run_ended", "task_settled"]
    async with mounted(Step(text="a", events=CALL), "other", "b", env=kept_in(tmp_path)) as surface:
        for prompt, session in (("first", SESSION), ("else", None), ("second", SESSION)):
            await surface.engine.execute(Start(items=(item(prompt, session_id=session),)))
        kept = await surface.engine.read_session(SESSION)
        nobody = await surface.engine.read_session("nobody's")
    async with mounted(env=kept_in(tmp_path)) as surface:
        again = await surface.engine.read_session(SESSION)

    assert told(kept) == [
        ("first", "succeeded", [*began, "tool_started", "tool_ended", *ended]),
        ("second", "succeeded", [*began, *ended]),
    ]
    assert [one.history for one in again] == [one.history for one in kept]
    assert nobody == ()


async def test_a_session_at_work_is_read_as_far_as_it_is(tmp_path):
    step = Step(text="a", events=(TextDelta(text="so far"), *CALL), gate=anyio.Event())
    async with mounted(step, env=kept_in(tmp_path)) as surface, anyio.create_task_group() as group:
        group.start_soon(surface.engine.execute, Start(items=(item(session_id=SESSION),)))
        await anyio.wait_all_tasks_blocked()
        kept = await surface.engine.read_session(SESSION)
        step.gate.set()

    assert told(kept) == [("p", "running", ["task_queued", "run_started", "text_delta", "tool_started", "tool_ended"])]


async def test_the_session_of_another_living_process_is_read_from_its_files(tmp_path):
    with another_process(tmp_path) as (task_id, _process):
        async with mounted(env=kept_in(tmp_path)) as surface:
            kept = await surface.engine.read_session(surface.ohm.task(task_id).session_id)

    assert told(kept) == [("p", "running", ["task_queued", "run_started", "text_delta", "tool_started"])]


async def test_the_session_of_a_dead_process_has_failed_and_keeps_what_was_done(tmp_path):
    with another_process(tmp_path) as (task_id, _process):
        pass
    async with mounted(env=kept_in(tmp_path)) as surface:
        [kept] = await surface.engine.read_session(surface.ohm.task(task_id).session_id)

    assert (kept.task.status, kept.task.error.code) == ("failed", ErrorCode.REHYDRATED_INCOMPLETE)
    began, ended = ["task_queued", "run_started", "text_delta", "tool_started"], ["tool_ended", "run_ended"]
    assert [each.event.kind for each in kept.history] == [*began, *ended, "task_settled"]
    assert kept.history[2].event.text == "so far"


async def test_a_closed_engine_reads_no_more():
    async with mounted() as surface:
        pass
    with pytest.raises(ClosedError, match="is closed"):
        await surface.engine.read_session(SESSION)
