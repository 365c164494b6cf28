"""A backend that breaks its law costs its own task, and nobody else anything."""

import asyncio

import anyio
import pytest

from ohm_subagents.contract import Ok
from ohm_subagents.plugin import RunOutput
from ohm_subagents.testing import ScriptedBackend, quick_ohm

pytestmark = pytest.mark.anyio

TASKS = [{"subagent_type": "finder", "description": "d", "prompt": prompt} for prompt in ("good", "bad", "good")]


class Lawless(ScriptedBackend):
    """Good prompts are answered after everybody has begun; the bad one does `misdeed`."""

    def __init__(self, misdeed):
        super().__init__()
        self.misdeed = misdeed

    async def run(self, request, sink):
        await anyio.lowlevel.checkpoint()
        if request.prompt == "bad":
            return await self.misdeed(sink)
        await anyio.wait_all_tasks_blocked()
        return Ok(RunOutput(text="fine"))


async def emits_junk(sink):
    sink.emit("nonsense")


async def answers_a_number(sink):
    return Ok(RunOutput(text=5))


async def waits_for_what_is_cancelled(sink):
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def outcome_of(misdeed):
    async with quick_ohm(backend=Lawless(misdeed)) as ohm:
        return (await ohm.call("task", {"op": "start", "tasks": TASKS, "parallel": True})).details["items"]


@pytest.mark.parametrize(
    ("misdeed", "complaint"),
    [
        (emits_junk, "TypeError: Sink.emit takes a RunEvent, not str."),
        (answers_a_number, "RunOutput.text is 5, and has to be a text"),
    ],
)
async def test_its_own_task_fails_with_a_sentence_and_its_siblings_succeed(misdeed, complaint):
    items = await outcome_of(misdeed)

    assert [item["status"] for item in items] == ["succeeded", "failed", "succeeded"]
    assert items[1]["error_message"] == f"Task task_2 backend failed: {complaint}"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_nobody_asked_for_is_a_failure(anyio_backend):
    items = await outcome_of(waits_for_what_is_cancelled)

    assert [item["status"] for item in items] == ["succeeded", "failed", "succeeded"]
    assert items[1]["error_message"].endswith("something that it waited for was cancelled")


async def test_text_that_cannot_be_written_is_marked_not_passed_on():
    async def answers_a_surrogate(sink):
        return Ok(RunOutput(text="\ud800x"))

    assert (await outcome_of(answers_a_surrogate))[1]["output"] == "?x"
