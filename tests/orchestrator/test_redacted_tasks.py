"""A task that is redacted: no secret of it is recorded, so nobody can show, keep or log one."""

import json
import logging
from dataclasses import fields
from typing import get_args

import anyio
import pytest
from acting import ActingBackend
from made_tasks import with_fields
from model_server import Drop, ModelServer, Say

from ohm_subagents import Ohm
from ohm_subagents._orchestrator.run.redaction import OF_ERRORS, redacted_event
from ohm_subagents._orchestrator.run.stream_redactor import redacted_answer
from ohm_subagents.contract import (
    AccountCharged,
    AgentEnded,
    AnswerAwaited,
    AnswerGiven,
    Checkpointed,
    Diagnostic,
    DiagnosticRaised,
    Err,
    Event,
    FileChanged,
    Finalized,
    OhmError,
    OutcomeChecked,
    Request,
    RequestHeld,
    RouteResolved,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
)
from ohm_subagents.contract.diagnostics import CUT_OFF
from ohm_subagents.redaction.redactor import Redaction
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio

KEY = "qzxv-9911-abcd-7788"
CONFIG = {"subagentBackend": "acting", "uiMode": "verbose", "subagents": {"redact": True, "store": "sqlite"}}


class Seen:
    """Everything that can be seen of a call, in one text."""

    def __init__(self, place):
        self.place = place
        self.host = MemoryHost()
        self.frames = []
        self.task = None
        self.result = None

    def everything(self):
        kept = [file.read_bytes().decode("utf-8", "replace") for file in self.place.rglob("*") if file.is_file()]
        told = (self.result.text, self.result.details, self.result.render(expanded=True))
        return "\n".join(map(str, (*told, *self.frames, *self.host.calls, self.task, *kept)))


async def called(act, place, *, prompt=f"Use {KEY}.", **more):
    seen = Seen(place)
    env = HERMETIC | {"ACME_KEY": KEY, "PI_CONFIG_DIR": str(place), "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(
        env=env, config=CONFIG, suites=["task"], plugins=[ActingBackend(act)], host=seen.host, cwd=place
    ) as ohm:
        asked = {"op": "start", "subagent_type": "task", "description": f"With {KEY}", "prompt": prompt}
        seen.result = await ohm.call("task", asked, on_update=lambda frame: seen.frames.append(frame.details), **more)
        seen.task = ohm.task(seen.result.details["task_id"])
    return seen


async def test_the_subagent_is_asked_with_the_secret_and_the_record_has_none(tmp_path):
    prompts = []

    async def act(request, sink):
        prompts.append(request.prompt)
        sink.emit(ToolStarted(call_id="1", tool="read", args=json.dumps({"api_key": ["A" * 30], "of": KEY})))
        sink.emit(ToolUpdated(call_id="1", tool="read", text=KEY[:10]))
        sink.emit(ToolUpdated(call_id="1", tool="read", text=KEY[10:]))
        sink.emit(ToolEnded(call_id="1", tool="read", status="success", text=f"It is {KEY}"))
        sink.emit(FileChanged(path=f"{KEY}.txt"))
        sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="key", message=f"{KEY} is old")))
        sink.emit(Checkpointed(state="so far"))
        return f"The key is {KEY}."

    seen = await called(act, tmp_path)
    assert prompts == [f"Use {KEY}."]
    assert seen.task.output == "The key is [REDACTED]."
    assert seen.task.assignment.prompt == "Use [REDACTED]."
    assert KEY not in seen.everything()
    assert "A" * 30 not in seen.everything()
    assert [call[0] for call in seen.host.calls].count("set_widget") > 0


async def test_a_secret_that_comes_in_pieces_is_one_whatever_comes_in_between(tmp_path):
    async def act(_request, sink):
        sink.emit(TextDelta(text=f"It is {KEY[:7]}"))
        sink.emit(ThinkingDelta(text=KEY[:5]))
        sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="x", message="Hm.")))
        sink.emit(TextDelta(text=KEY[7:]))
        sink.emit(ThinkingDelta(text=KEY[5:]))
        return ""

    seen = await called(act, tmp_path)
    assert seen.task.text == "It is [REDACTED]"
    assert KEY[:7] not in seen.everything()


@pytest.mark.parametrize("end", ["fails", "raises", "is aborted"])
async def test_what_may_be_the_beginning_of_a_secret_goes_when_a_run_breaks_off(end, tmp_path, caplog):
    abort = anyio.Event()

    async def act(_request, sink):
        sink.emit(TextDelta(text=f"I found this: {KEY[:12]}"))
        if end == "raises":
            raise ValueError(KEY)
        if end == "is aborted":
            abort.set()
            await anyio.sleep_forever()
        return Err(OhmError(code="acme_down", message=f"{KEY} was refused.", advice=f"Renew {KEY}."))

    with caplog.at_level(logging.DEBUG):
        seen = await called(act, tmp_path, abort=abort)
    assert seen.task.text.startswith("I found this:")
    assert seen.task.status in {"failed", "cancelled"}
    assert KEY[:6] not in seen.everything() + caplog.text


LAST_WORDS = {
    "usage": [UsageAdded(usage=Usage(requests=1))],
    "the state": [Checkpointed(state="so far")],
    "both": [UsageAdded(usage=Usage(requests=1)), Checkpointed(state="so far")],
    "the end of the agent": [AgentEnded()],
    "everything": [
        DiagnosticRaised(diagnostic=Diagnostic(subject="x", message="Hm.")),
        UsageAdded(usage=Usage(requests=1)),
        AgentEnded(),
        Checkpointed(state="so far"),
    ],
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("suite", ["task", "single"])
@pytest.mark.parametrize("kind", [TextDelta, ThinkingDelta])
@pytest.mark.parametrize("last", LAST_WORDS.values(), ids=LAST_WORDS)
async def test_it_goes_whatever_the_backend_says_before_the_run_ends(suite, kind, last, tmp_path):
    async def act(_request, sink):
        sink.emit(TextDelta(text="I found this: "))
        sink.emit(kind(text=KEY[:12]))
        for event in last:
            sink.emit(event)
        return Err(OhmError(code="acme_down", message="Connection lost."))

    if suite == "task":
        seen = await called(act, tmp_path)
        assert seen.task.text.startswith("I found this:")
        assert KEY[:6] not in seen.everything()
        return
    env = HERMETIC | {"ACME_KEY": KEY, "HOME": str(tmp_path)}
    async with Ohm.open(env=env, config=CONFIG, suites=["single"], plugins=[ActingBackend(act)], cwd=tmp_path) as ohm:
        done = await ohm.call("subagent", {"agent": "explorer", "task": "x"})
        kept = [repr(task) for task in ohm.store.tasks()]
    assert "I found this:" in done.text
    assert KEY[:6] not in "".join((done.text, repr(done.details), *kept))


async def test_it_goes_from_an_answer_that_ends_at_the_limit_of_the_model(tmp_path):
    async def act(_request, sink):
        sink.emit(TextDelta(text=f"The key is {KEY[:12]}"))
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="m", message=f"{CUT_OFF} at the limit.")))
        sink.emit(Checkpointed(state="so far"))
        return f"The key is {KEY[:12]}"

    seen = await called(act, tmp_path)
    assert seen.task.status == "succeeded"
    assert seen.task.output == "The key is [REDACTED]"
    assert KEY[:6] not in seen.everything()


class TestWithAModel:
    @pytest.fixture
    def anyio_backend(self):
        """pydantic-ai runs on asyncio only."""
        return "asyncio"

    @pytest.mark.parametrize("end", [Say(KEY[:12], Drop()), Say(KEY[:12], finish="length")], ids=["drop", "length"])
    async def test_a_model_that_breaks_off_in_the_middle_of_a_key_leaves_nothing_of_it(self, end, tmp_path):
        with ModelServer(end) as server:
            acme = {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}
            config = {
                "providers": {"acme": acme},
                "subagents": {"model": "acme/small", "redact": True, "requestRetries": 0},
            }
            env = HERMETIC | {"ACME_KEY": KEY, "PI_CONFIG_DIR": str(tmp_path), "OHM_SUBAGENTS_STORE": "sqlite"}
            async with Ohm.open(env=env, config=config, suites=["task"], cwd=tmp_path) as ohm:
                asked = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}
                result = await ohm.call("task", asked)
                task = ohm.task(result.details["task_id"])
        assert "[REDACTED]" in task.text
        told = (
            result.text,
            repr(result.details),
            result.render(expanded=True),
            repr(with_fields(task, checkpoint=None)),
        )
        assert KEY[:6] not in "".join(told), "the state of a conversation that can go on is not redacted"


async def test_a_text_without_end_is_recorded_by_whole_lines(tmp_path):
    texts = []

    async def act(_request, sink):
        for number in range(3000):
            sink.emit(TextDelta(text=f"{number:04} {'x' * 40} {KEY[:9]}"))
            sink.emit(TextDelta(text=f"{KEY[9:]}\n"))
        texts.append(len(ohm_of["task"]().text))
        return "done"

    ohm_of = {}
    async with Ohm.open(
        env=HERMETIC | {"ACME_KEY": KEY}, config=CONFIG, suites=["task"], plugins=[ActingBackend(act)], cwd=tmp_path
    ) as ohm:
        ohm_of["task"] = lambda: next(iter(ohm.store.tasks()))
        asked = {"op": "start", "subagent_type": "task", "description": "d", "prompt": "p"}
        result = await ohm.call("task", asked)
        task = ohm.task(result.details["task_id"])
    assert texts[0] > 100_000
    assert KEY not in task.text
    assert task.text.count("[REDACTED]\n") == 3000


async def test_a_task_of_a_program_is_not_redacted(tmp_path):
    async def act(request, _sink):
        return f"{request.prompt}!"

    async with Ohm.open(
        env=HERMETIC | {"ACME_KEY": KEY}, config=CONFIG, plugins=[ActingBackend(act)], cwd=tmp_path
    ) as ohm:
        assert (await ohm.run("task", KEY)).unwrap().output == f"{KEY}!"


NAMES = {
    *("kind", "is_follow_up", "call_id", "status", "guard", "step", "why", "code", "category", "task_id"),
    *("runtime", "route", "key", "position", "verified", "attempt"),
    *("base", "ref", "files", "insertions", "deletions", "landed"),  # of a commit, and made of the task's id
    "conflicts",  # paths of the user's own files, with numbers of lines
}
"""Fields that hold a name and nobody's text."""
APART = {
    *((ToolUpdated, "text"), (Checkpointed, "state"), (UsageAdded, "usage"), (DiagnosticRaised, "diagnostic")),
    *((ToolStarted, "args"), (Finalized, "result"), (Finalized, "error")),
    *((AnswerAwaited, "request"), (AnswerGiven, "answer"), (AnswerGiven, "request_id"), (AnswerGiven, "by")),
    *((AccountCharged, "usage"), (AccountCharged, "remaining"), (OutcomeChecked, "checks")),
    *((AccountCharged, "unpriced_usd"), (RequestHeld, "wait_s")),
}
"""Fields that are left out, have no text, or are looked at by themselves."""


def test_every_text_of_every_event_is_redacted_or_a_name():
    found = {(event, one.name) for event in get_args(Event) for one in fields(event)} - APART
    told = {(event, name) for event in get_args(Event) for name in event.TEXTS}
    assert {(event.__name__, name) for event, name in found - told if name not in NAMES} == {
        ("RunEnded", "outcome"),
        ("RunEnded", "exit_code"),
        ("TaskSettled", "outcome"),
    }
    assert {one.name for one in fields(OhmError)} - NAMES - {"retryable", "exit_code"} == {*OF_ERRORS}


async def test_what_a_backend_calls_things_by_is_redacted(tmp_path):
    async def act(_request, sink):
        sink.emit(RouteResolved(provider=f"p-{KEY}", model=f"m-{KEY}"))
        sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject=f"s-{KEY}", message="M.")))
        return "done"

    seen = await called(act, tmp_path, prompt="Go.")
    assert KEY not in seen.everything()


async def test_a_line_without_end_is_not_cut_through_a_secret(tmp_path):
    lengths = []

    async def act(_request, sink):
        for _ in range(40):
            sink.emit(TextDelta(text="word " * 6_000))
            sink.emit(TextDelta(text=KEY[:9]))
            sink.emit(TextDelta(text=f"{KEY[9:]} "))
        lengths.append(len(opened[0].task("task_1").text))
        return "done"

    opened, backend = [], ActingBackend(act)
    async with Ohm.open(
        env=HERMETIC | {"ACME_KEY": KEY},
        config=CONFIG,
        suites=["task"],
        plugins=[backend],
        cwd=tmp_path,
        new_task_id=lambda: "task_1",
    ) as ohm:
        opened.append(ohm)
        await ohm.call("task", {"op": "start", "subagent_type": "task", "description": "d", "prompt": "p"})
        task = ohm.task("task_1")
    assert lengths[0] > 0, "much of it is recorded before it ends"
    assert KEY not in task.text
    assert task.text.count("[REDACTED]") == 40


async def test_a_name_in_one_line_and_its_secret_in_the_next_are_seen_together(tmp_path):
    async def act(_request, sink):
        for _ in range(2000):
            sink.emit(TextDelta(text=f"{'x' * 50}\nsecret_key =\n"))
            sink.emit(TextDelta(text=f"{'A1' * 15}\n"))
        return "done"

    seen = await called(act, tmp_path)
    assert "A1A1" not in seen.task.text


async def test_what_is_cut_is_redacted_before(tmp_path):
    async def act(_request, _sink):
        raise ValueError("x" * 220 + " " + KEY * 4)

    seen = await called(act, tmp_path, prompt="y" * 60 + f" {KEY}")
    assert seen.task.status == "failed"
    assert KEY[:6] not in seen.everything()


async def test_a_refused_item_of_a_session_is_kept_without_secrets(tmp_path):
    config = CONFIG | {"subagents": {"redact": True, "store": "sqlite"}}
    env = HERMETIC | {"ACME_KEY": KEY, "PI_CONFIG_DIR": str(tmp_path), "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(env=env, config=config, suites=["delegate"], cwd=tmp_path) as ohm:
        asked = {"name": KEY, "prompt": KEY, "profile": KEY}
        await ohm.call("delegate_to_subagents", {"tasks": [asked]})
        (task,) = ohm.store.tasks()
    assert task.status == "failed"
    assert KEY not in repr(task)


async def test_an_answer_is_as_it_was_written_where_it_holds_no_secret():
    redaction = Redaction(secrets=(KEY,))
    written = '{\n  "price": 2.50,\n  "price": 1e400\n}'
    assert redacted_answer(written, redaction) == written
    assert redacted_answer(f'{{"a": "{KEY}"}}', redaction) == '{"a":"[REDACTED]"}'
    assert redacted_answer(f'{{"a": "{KEY}", "a": 1}}', redaction) == '{"a":1}'
    assert redacted_answer(f"no JSON: {KEY}", redaction) == "no JSON: [REDACTED]"


async def test_a_task_that_continues_another_is_redacted_too_and_knows_its_conversation(tmp_path):
    states = []

    async def act(request, sink):
        states.append(request.checkpoint)
        sink.emit(Checkpointed(state=f"{request.checkpoint or ''}{request.prompt};"))
        return request.prompt

    config = CONFIG | {"subagents": {"redact": True, "sendToFinished": "resume"}}
    env = HERMETIC | {"ACME_KEY": KEY}
    async with Ohm.open(env=env, config=config, suites=["task"], plugins=[ActingBackend(act)], cwd=tmp_path) as ohm:
        asked = {"op": "start", "subagent_type": "task", "description": "d", "prompt": "one"}
        first = (await ohm.call("task", asked)).details["task_id"]
        await ohm.call("task", {"op": "send", "id": first, "prompt": f"two {KEY}"})
        second = next(task for task in ohm.store.tasks() if task.id != first)
    assert states == [None, "one;"]
    assert second.output == "two [REDACTED]"
    assert [run.prompt for run in second.runs] == ["two [REDACTED]"]


def test_a_request_of_a_redacted_task_shows_no_secret():
    request = Request(
        id="req_1", task_id="t", session_id="s", path=("t",), profile="p", arguments=f'{{"a":"{KEY}"}}', question=KEY
    )
    awaited = redacted_event(AnswerAwaited(request=request), Redaction(secrets=(KEY,)))
    given = redacted_event(AnswerGiven(request_id="r", answer=Text(KEY), by="program"), Redaction(secrets=(KEY,)))
    assert KEY not in f"{awaited}{given}"
