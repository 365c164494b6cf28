"""What is said to a running pi and when a run is over, with the lines of a pi that a test speaks."""

import json
import math
from contextlib import contextmanager

import anyio
import pytest
from pi_streams import request

from ohm_subagents._backends.shell.dialect import Ended
from ohm_subagents._backends.shell.pi.kept import KeptReader
from ohm_subagents._backends.shell.pi.reader import PiReader
from ohm_subagents._backends.shell.pi.rpc import RpcProcess
from ohm_subagents._backends.shell.pi.session import SessionFile
from ohm_subagents.contract import Err, ErrorCode, Ok

pytestmark = pytest.mark.anyio


class SpokenPi:
    """A process: the test is pi."""

    def __init__(self):
        self._say, self._said = anyio.create_memory_object_stream[bytes](math.inf)
        self._heard, self._hear = anyio.create_memory_object_stream[dict](math.inf)
        self.is_stopped = False

    def close(self):
        for end in (self._say, self._said, self._heard, self._hear):
            end.close()

    async def write(self, data):
        await self._heard.send(json.loads(data))

    def lines(self):
        return self._said

    async def ended(self):
        return Ended(code=1, stderr="it broke")

    def stop(self):
        self.is_stopped = True

    async def hears(self):
        """The next command."""
        return await self._hear.receive()

    def says(self, *records):
        for record in records:
            self._say.send_nowait(json.dumps(record).encode())

    def goes(self):
        self._say.close()


class Desk:
    """An inbox: who holds it may say something while a run goes on."""

    def __init__(self):
        self.steer = None
        self.is_open = anyio.Event()

    @contextmanager
    def steered_by(self, steer, finish=None):
        self.steer = steer
        self.is_open.set()
        yield
        self.steer = None


class Sink:
    def emit(self, event):
        pass


def taken(command, *, success=True, **more):
    return {"id": command["id"], "type": "response", "command": "prompt", "success": success, **more}


STARTED, SETTLED = {"type": "agent_start"}, {"type": "agent_settled"}


def answer(text, **more):
    content = [{"type": "text", "text": text}]
    return {"type": "message_end", "message": {"role": "assistant", "content": content, "stopReason": "stop", **more}}


class Talk:
    """One run on the process."""

    def __init__(self, tmp_path, group):
        self.pi, self.desk = SpokenPi(), Desk()
        self.result = None
        self._run = request("first", inbox=self.desk)
        self._session = SessionFile(tmp_path / "session.jsonl")
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        group.start_soon(self._go)

    async def _go(self):
        reader = KeptReader(PiReader(self._run, settles=True, secrets=()), self._session)
        with self.scope:
            self.result = await RpcProcess(self.pi).converse(self._run, reader, Sink())
        self.done.set()

    async def steer(self, text):
        await self.desk.is_open.wait()
        return self.desk.steer(text)


@pytest.fixture
async def talk(tmp_path):
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            talk = Talk(tmp_path, group)
            yield talk
            await talk.done.wait()
            talk.pi.close()


async def test_a_run_is_a_prompt_and_the_last_answer_before_pi_settles(talk):
    asked = await talk.pi.hears()
    talk.pi.says(taken(asked), STARTED, answer("half"), answer("whole"), SETTLED)
    await talk.done.wait()
    assert (asked["type"], asked["message"], "streamingBehavior" in asked) == ("prompt", "first", False)
    assert talk.result.ok_value.text == "whole"
    assert not talk.pi.is_stopped


async def test_nothing_is_said_to_pi_before_it_has_started(talk):
    asked = await talk.pi.hears()
    talk.pi.says(taken(asked))
    await anyio.wait_all_tasks_blocked()
    assert talk.desk.steer is None
    talk.pi.says(STARTED)
    assert await talk.steer("second")
    steered = await talk.pi.hears()
    assert (steered["message"], steered["streamingBehavior"]) == ("second", "steer")
    talk.pi.says(taken(steered), answer("both"), SETTLED)


async def test_what_is_said_as_pi_settles_is_its_next_prompt_in_the_same_run(talk):
    talk.pi.says(taken(await talk.pi.hears()), STARTED)
    assert await talk.steer("late")
    talk.pi.says(answer("early"), SETTLED)
    late = await talk.pi.hears()
    await anyio.wait_all_tasks_blocked()
    assert not talk.done.is_set()
    talk.pi.says(taken(late))
    await anyio.wait_all_tasks_blocked()
    assert not talk.done.is_set()
    talk.pi.says(STARTED, answer("late answer"), SETTLED)
    await talk.done.wait()
    assert talk.result.ok_value.text == "late answer"


async def test_what_pi_cannot_take_now_it_is_given_when_it_has_settled(talk):
    talk.pi.says(taken(await talk.pi.hears()), STARTED)
    assert await talk.steer("put off")
    refused = await talk.pi.hears()
    talk.pi.says(taken(refused, success=False, error="Cannot submit a prompt while compaction is in progress."))
    talk.pi.says(answer("first answer"), SETTLED)
    again = await talk.pi.hears()
    talk.pi.says(taken(again), STARTED, answer("second answer"), SETTLED)
    await talk.done.wait()
    assert again["message"] == "put off"
    assert talk.result.ok_value.text == "second answer"


async def test_several_words_at_once_are_all_answered_for(talk):
    talk.pi.says(taken(await talk.pi.hears()), STARTED)
    assert [await talk.steer(word) for word in "abc"] == [True, True, True]
    heard = [await talk.pi.hears() for _ in "abc"]
    talk.pi.says(*(taken(each) for each in heard), answer("all"), SETTLED)
    await talk.done.wait()
    assert [each["message"] for each in heard] == ["a", "b", "c"]
    assert isinstance(talk.result, Ok)


async def test_a_prompt_that_pi_refuses_is_the_failure_of_the_run(talk):
    asked = await talk.pi.hears()
    talk.pi.says(taken(asked, success=False, error="No API key found for acme."))
    await talk.done.wait()
    assert talk.result.err_value.code == ErrorCode.MODEL_MISSING
    assert talk.pi.is_stopped


async def test_a_pi_that_goes_in_the_middle_is_a_failure_with_its_last_words(talk):
    talk.pi.says(taken(await talk.pi.hears()), STARTED, answer("half"))
    talk.pi.goes()
    await talk.done.wait()
    assert isinstance(talk.result, Err)
    assert talk.result.err_value.message == "Task task_1 backend failed: it broke"
    assert talk.pi.is_stopped


async def test_a_run_that_is_cancelled_stops_its_pi(talk):
    talk.pi.says(taken(await talk.pi.hears()), STARTED)
    await talk.desk.is_open.wait()
    talk.scope.cancel()
    await talk.done.wait()
    assert talk.pi.is_stopped
    assert talk.result is None


async def test_lines_that_are_no_records_and_answers_to_nobody_pass_by(talk):
    asked = await talk.pi.hears()
    talk.pi.says([], 5, {"type": "response", "success": True}, {"id": "x", "type": "response", "success": True})
    talk.pi.says(taken(asked), STARTED, {"type": "news_of_tomorrow"}, answer("whole"), SETTLED)
    await talk.done.wait()
    assert talk.result.ok_value.text == "whole"
