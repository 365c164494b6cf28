"""Messages to a running pi, and the end of a run, with the lines of a pi that a test speaks."""

import json
import math
from contextlib import contextmanager

import anyio
import pytest
from pi_streams import request

from ohm_subagents.backends.pi.reader import PiReader
from ohm_subagents.backends.pi.rpc import RpcProcess
from ohm_subagents.backends.pi.session import SessionFile
from ohm_subagents.backends.pi.session_reader import SessionReader
from ohm_subagents.contract import Checkpointed, DiagnosticRaised, Err, ErrorCode, Ok
from ohm_subagents.plugin import CallRules
from ohm_subagents.shell.dialect import Ended

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

    async def family(self):
        return frozenset({1})

    def lines(self):
        return self._said

    async def ended(self):
        return Ended(code=1, stderr="it broke")

    def stop(self):
        self.is_stopped = True

    @property
    def has_heard_all(self):
        return not self._hear.statistics().current_buffer_used

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


def taken(command, *, success=True, **more):
    return {"id": command["id"], "type": "response", "command": "prompt", "success": success, **more}


STARTED, SETTLED = {"type": "agent_start"}, {"type": "agent_settled"}


def answer(text, **more):
    content = [{"type": "text", "text": text}]
    return {"type": "message_end", "message": {"role": "assistant", "content": content, "stopReason": "stop", **more}}


def user(text):
    return {"type": "message_start", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}


class Talk:
    """One run on the process."""

    def __init__(self, tmp_path, group, **changes):
        self.pi, self.desk = SpokenPi(), Desk()
        self.result = None
        self.told = []
        self._run = request("first", inbox=self.desk, **changes)
        self._session = SessionFile(tmp_path / "session.jsonl")
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        group.start_soon(self._go)

    async def _go(self):
        reader = SessionReader(PiReader(self._run, settles=True, secrets=()), self._session)
        with self.scope:
            self.result = await RpcProcess(self.pi).converse(self._run, reader, self, secrets=())
        self.done.set()

    def emit(self, event):
        self.told.append(event)

    async def steer(self, text):
        await self.desk.is_open.wait()
        return self.desk.steer(text)


@pytest.fixture
async def talk(tmp_path):
    with anyio.fail_after(60):
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
    talk.pi.says(taken(await talk.pi.hears()), STARTED, user("first"))
    assert await talk.steer("put off")
    refused = await talk.pi.hears()
    talk.pi.says(taken(refused, success=False, error="Cannot submit a prompt while compaction is in progress."))
    talk.pi.says(answer("first answer"), SETTLED)
    again = await talk.pi.hears()
    talk.pi.says(taken(again), STARTED, answer("second answer"), SETTLED)
    await talk.done.wait()
    assert again["message"] == "put off"
    assert talk.result.ok_value.text == "second answer"


async def test_pi_is_told_one_thing_after_the_other(talk):
    talk.pi.says(taken(await talk.pi.hears()), STARTED)
    assert [await talk.steer(word) for word in "abc"] == [True, True, True]
    for word in "abc":
        heard = await talk.pi.hears()
        await anyio.wait_all_tasks_blocked()
        assert heard["message"] == word
        assert talk.pi.has_heard_all
        talk.pi.says(taken(heard))
    talk.pi.says(answer("all"), SETTLED)
    await talk.done.wait()
    assert isinstance(talk.result, Ok)


async def test_of_several_words_as_pi_settles_the_first_begins_anew_and_the_others_reach_that(talk):
    talk.pi.says(taken(await talk.pi.hears()), STARTED)
    assert [await talk.steer(word) for word in "ab"] == [True, True]
    first = await talk.pi.hears()
    talk.pi.says(answer("early"), SETTLED, taken(first, data={"disposition": "started"}))
    await anyio.wait_all_tasks_blocked()
    assert talk.pi.has_heard_all
    talk.pi.says(STARTED)
    second = await talk.pi.hears()
    talk.pi.says(taken(second, data={"disposition": "queued"}), answer("both"), SETTLED)
    await talk.done.wait()
    assert (first["message"], second["message"]) == ("a", "b")
    assert talk.result.ok_value.text == "both"


async def test_what_pi_took_and_then_forgot_it_is_told_once_more(talk):
    asked = await talk.pi.hears()
    talk.pi.says(taken(asked), STARTED, user("first"))
    assert await talk.steer("forgotten")
    talk.pi.says(taken(await talk.pi.hears()), answer("early"), SETTLED)
    again = await talk.pi.hears()
    talk.pi.says(taken(again), STARTED, user("forgotten"), answer("late"), SETTLED)
    await talk.done.wait()
    assert again["message"] == "forgotten"
    assert talk.result.ok_value.text == "late"


async def test_a_follow_up_that_pi_refuses_does_not_cost_the_answer(talk):
    talk.pi.says(taken(await talk.pi.hears()), STARTED)
    assert await talk.steer("late")
    late = await talk.pi.hears()
    talk.pi.says(answer("early"), SETTLED, taken(late, success=False, error="no"))
    await talk.done.wait()
    assert talk.result.ok_value.text == "early"
    assert [each.diagnostic.message for each in talk.told if isinstance(each, DiagnosticRaised)] == [
        "pi did not take a follow-up: no."
    ]


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


class Judge:
    """Decides about a call when the test says so; one of `git push` waits for somebody meanwhile."""

    def __init__(self):
        self.asked = {}
        self._answers = {}

    async def tool(self, name, arguments, *, call_id="", on_wait=None, judged=None):
        if on_wait is not None and arguments["command"] == "git push":
            on_wait()
        self.asked[call_id] = (name, arguments)
        send, receive = anyio.create_memory_object_stream[str | None](1)
        self._answers[call_id] = send
        with send, receive:
            return await receive.receive()

    def says(self, call_id, refusal):
        self._answers[call_id].send_nowait(refusal)


LOADED = {"type": "extension_ui_request", "id": "u0", "method": "setStatus", "statusKey": "ohm-gate"}


def asks(call_id, command):
    call = {"tool": "bash", "callId": call_id, "arguments": {"command": command}}
    shown = {"method": "input", "title": "ohm-gate", "placeholder": json.dumps(call)}
    return {"type": "extension_ui_request", "id": f"u-{call_id}", **shown}


@pytest.fixture
async def ruled(tmp_path):
    """A run with rules for calls, and who decides about them."""
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            judge = Judge()
            talk = Talk(tmp_path, group, gate=judge, call_rules=(CallRules(ask=("git *",)),))
            yield talk, judge
            await talk.done.wait()
            talk.pi.close()


async def test_each_call_is_decided_by_itself_while_pi_goes_on(ruled):
    talk, judge = ruled
    checked = await talk.pi.hears()
    talk.pi.says(LOADED, {"type": "response", "command": "get_state", "success": True, "id": checked["id"]})
    asked = await talk.pi.hears()
    talk.pi.says(taken(asked), STARTED, asks("c1", "git push"), asks("c2", "git status"))
    await anyio.wait_all_tasks_blocked()
    assert judge.asked == {"c1": ("bash", {"command": "git push"}), "c2": ("bash", {"command": "git status"})}
    judge.says("c2", None)
    second = await talk.pi.hears()
    judge.says("c1", "Nobody wants that.")
    first = await talk.pi.hears()
    talk.pi.says(answer("done"), SETTLED)
    await talk.done.wait()
    assert (checked["type"], asked["message"]) == ("get_state", "first")
    assert (second["type"], second["id"]) == ("extension_ui_response", "u-c2")
    assert json.loads(second["value"]) == {"isAllowed": True, "refusal": None}
    assert json.loads(first["value"]) == {"isAllowed": False, "refusal": "Nobody wants that."}
    assert isinstance(talk.result, Ok)


async def test_the_conversation_is_kept_before_somebody_is_asked_about_a_call_and_before_no_other(ruled, tmp_path):
    talk, judge = ruled
    checked = await talk.pi.hears()
    talk.pi.says(LOADED, {"type": "response", "command": "get_state", "success": True, "id": checked["id"]})
    asked = await talk.pi.hears()
    message = {"role": "assistant", "content": [{"type": "toolCall", "id": "c2", "name": "bash"}]}
    kept = [{"type": "session", "version": 3}, {"type": "message", "message": message}]
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in kept)
    (tmp_path / "session.jsonl").write_text(text)
    told = []
    for call_id, command in (("c1", "ls"), ("c2", "git push")):
        talk.pi.says(*([taken(asked), STARTED] if call_id == "c1" else []), asks(call_id, command))
        await anyio.wait_all_tasks_blocked()
        assert call_id in judge.asked
        told.append([event.state for event in talk.told if isinstance(event, Checkpointed)])
        judge.says(call_id, None)
        await talk.pi.hears()
    talk.pi.says(answer("done"), SETTLED)
    await talk.done.wait()
    assert told == [[], [text]]


async def test_a_pi_that_has_not_loaded_the_extension_gets_no_prompt(ruled):
    talk, _ = ruled
    checked = await talk.pi.hears()
    talk.pi.says({"type": "response", "command": "get_state", "success": True, "id": checked["id"]})
    await talk.done.wait()
    assert talk.pi.has_heard_all
    assert talk.pi.is_stopped
    assert talk.result.err_value.code == ErrorCode.TOOLS_UNSUPPORTED


async def test_a_run_that_is_cancelled_leaves_no_call_undecided(ruled):
    talk, judge = ruled
    checked = await talk.pi.hears()
    talk.pi.says(LOADED, {"type": "response", "command": "get_state", "success": True, "id": checked["id"]})
    talk.pi.says(taken(await talk.pi.hears()), STARTED, asks("c1", "git push"))
    await anyio.wait_all_tasks_blocked()
    talk.scope.cancel()
    await talk.done.wait()
    assert judge.asked
    assert talk.pi.is_stopped
