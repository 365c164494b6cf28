"""The end of an attempt by the rules of 001, and the cases for another one."""

import json

import anyio
import anyio.lowlevel
import pytest
from failing import broken, failing

from ohm_subagents import Err
from ohm_subagents.contract import (
    AgentEnded,
    Diagnostic,
    DiagnosticRaised,
    ErrorCode,
    OhmError,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)
from ohm_subagents.plugin import Ok, RunOutput
from ohm_subagents.suites.single import child_run

pytestmark = pytest.mark.anyio

ASK = {"agent": "explorer", "task": "Find auth code"}


async def test_what_may_pass_is_tried_again_from_the_beginning(opened):
    async with opened(failing(broken())) as ohm:
        done = await ohm.call("subagent", ASK)
        first, second = ohm.acting.requests
    assert (done.text, done.details["results"][0]["exitCode"]) == ("at last", 0)
    assert done.details["results"][0]["sessionFile"].endswith("session-attempt-2.jsonl")
    assert (second.prompt, second.history, second.checkpoint) == (first.prompt, (), None)


async def test_each_attempt_is_a_task_of_its_own_and_its_notes_are_kept(opened):
    errors = [broken()]

    async def act(_request, sink):
        await anyio.lowlevel.checkpoint()
        if not errors:
            return "at last"
        sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="tools", message="One tool is missing.")))
        return Err(errors.pop())

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
        tasks = [ohm.task(request.task_id) for request in ohm.acting.requests]
    assert [(task.status, len(task.runs)) for task in tasks] == [("failed", 1), ("succeeded", 1)]
    assert done.details["results"][0]["notes"] == ["One tool is missing."]


async def test_all_attempts_have_the_budget_of_one_start(opened):
    async def act(_request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        await anyio.lowlevel.checkpoint()
        return Err(broken())

    async with opened(act, config={"subagents": {"budget": {"requests": 1}}}) as ohm:
        done, later = [await ohm.call("subagent", ASK) for _ in range(2)]
        assert len(ohm.acting.requests) == 2, "one for each call"
    assert "The budget of 1 model request of subagents.budget is spent." in done.text
    assert later.text.splitlines()[:4] == done.text.splitlines()[:4]


async def test_an_attempt_that_is_not_admitted_leaves_the_failure_before(opened):
    async with opened(failing(broken("connect ECONNREFUSED")), new_task_id=lambda: "task_1") as ohm:
        done = await ohm.call("subagent", ASK)
        assert len(ohm.acting.requests) == 1
    assert "Error:\nconnect ECONNREFUSED" in done.text


async def test_a_call_is_aborted_in_the_middle_of_a_later_attempt(opened):
    abort = anyio.Event()
    calls = []

    async def act(_request, _sink):
        calls.append(1)
        if len(calls) == 2:
            abort.set()
            await anyio.sleep_forever()
        await anyio.lowlevel.checkpoint()
        return Err(broken())

    async with opened(act, section={"retry": {"maxAttempts": 5}}) as ohm:
        done = await ohm.call("subagent", ASK, abort=abort)
        tasks = [ohm.task(request.task_id) for request in ohm.acting.requests]
    assert [task.status for task in tasks] == ["failed", "cancelled"]
    assert "Attempts: 2.\n\nError:\nSubagent execution was cancelled by user." in done.text


@pytest.mark.parametrize(
    ("section", "errors", "spawned"),
    [
        ({}, [broken(), broken(), broken()], 2),
        ({"retry": {"maxAttempts": 3}}, [broken(), broken(), broken()], 3),
        ({"retry": {"enabled": False}}, [broken()], 1),
        ({}, [broken("no such model")], 1),
        ({}, [broken("no such model", retryable=True), broken("x")], 2),
        ({}, [OhmError(code=ErrorCode.PROVIDER_RATE_LIMITED, message="rate limit")] * 2, 2),
        ({}, [OhmError(code=ErrorCode.PERMISSION_DENIED, message="rate limit")], 1),
    ],
)
async def test_only_what_may_pass_is_tried_again_and_at_most_so_often(opened, section, errors, spawned):
    async with opened(failing(*errors), section=section) as ohm:
        done = await ohm.call("subagent", ASK)
        assert len(ohm.acting.requests) == spawned
    assert done.details["results"][0]["exitCode"] == 1
    assert ("Attempts:" in done.text) is (spawned > 1)


async def test_the_words_of_a_failing_provider_are_no_answer(opened):
    async def act(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return "Error Code internal_server_error: stream error"

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
    assert done.details["error"]["code"] == "SUBAGENT_FAILED"
    assert done.details["results"][0]["error"] == "Error Code internal_server_error: stream error"


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "words",
    [
        "internal_server_error",
        "Stream Error",
        "read ECONNRESET",
        "connect ECONNREFUSED 127.0.0.1",
        "ETIMEDOUT",
        "getaddrinfo ENOTFOUND",
        "Rate limit reached",
        "rate_limit_error",
        "Overloaded",
        "Temporarily unavailable",
        "Request timeout",
        "timed out: time-out",
    ],
)
async def test_known_words_tell_that_it_may_pass(opened, words):
    async with opened(failing(broken(words))) as ohm:
        done = await ohm.call("subagent", ASK)
    assert done.text == "at last"


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "error",
    [
        broken("no such file"),
        broken("ECONNRESET", exit_code=124),
        OhmError(code=ErrorCode.BACKEND_TIMEOUT, message="timeout", retryable=True),
        OhmError(code=ErrorCode.LOOP_DETECTED, message="timeout"),
        OhmError(code=ErrorCode.BUDGET_EXCEEDED, message="rate limit"),
        OhmError(code=ErrorCode.MODEL_UNKNOWN, message="timeout"),
        OhmError(code=ErrorCode.TASK_ABORTED, message="ECONNRESET"),
        broken("It is gone.", cause="It is gone.", exit_code=2),
    ],
)
async def test_everything_else_lasts(opened, error):
    async with opened(failing(error)) as ohm:
        done = await ohm.call("subagent", ASK)
        assert len(ohm.acting.requests) == 1
    assert done.details["results"][0]["exitCode"] != 0


async def test_a_provider_that_tells_of_its_failure_in_the_models_name_is_asked_again(opened):
    answers = ["Error Code internal_server_error: stream error", "fine"]

    async def act(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return answers.pop(0)

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
    assert (done.text, "error" in done.details, answers) == ("fine", False, [])


async def test_what_the_provider_told_last_is_the_error_of_a_process_that_says_nothing_itself(opened):
    told = "Error Code internal_server_error: stream error"

    async def act(_request, sink):
        sink.emit(TextDelta(text="Let me look"))
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        sink.emit(TextDelta(text=told))
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        await anyio.lowlevel.checkpoint()
        return Err(broken("", exit_code=1))

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
    start = f"Subagent failed with exit code 1.\n\nAttempts: 2.\n\nError:\n{told}\n\nPartial output:\nLet me look\n\n"
    assert done.text.startswith(start)


async def test_an_empty_answer_is_not_taken_from_an_attempt_before(opened):
    answers = ["Error Code internal_server_error: stream error", ""]

    async def act(_request, sink):
        sink.emit(ToolStarted(call_id="1", tool="ls"))
        sink.emit(ToolEnded(call_id="1", tool="ls", status="success", text="a"))
        await anyio.lowlevel.checkpoint()
        return answers.pop(0)

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
    assert done.text.startswith("Subagent produced JSONL events but no final assistant text")


async def test_a_process_that_has_timed_itself_out_counts_as_a_timeout(opened):
    async with opened(failing(broken("boom", exit_code=124))) as ohm:
        done = await ohm.call("subagent", ASK)
    assert done.text.startswith("Subagent failed with exit code 124.\n\nError:\nboom\n\n")
    assert done.details["error"]["code"] == "SUBAGENT_TIMEOUT"
    assert "timeoutReason" not in done.details["results"][0]


async def test_the_time_limit_of_somebody_else_is_told_in_his_words(opened):
    told = "The model server did not answer within 30s."
    async with opened(failing(OhmError(code=ErrorCode.BACKEND_TIMEOUT, message=told))) as ohm:
        done = await ohm.call("subagent", ASK)
    (one,) = done.details["results"]
    assert (one["exitCode"], one["error"], "timeoutReason" in one) == (124, told, False)
    assert done.details["error"]["code"] == "SUBAGENT_TIMEOUT"


async def test_a_killed_process_has_the_exit_code_that_a_shell_gives_it(opened):
    async with opened(failing(broken("boom", exit_code=-9))) as ohm:
        done = await ohm.call("subagent", ASK)
    assert done.text.startswith("Subagent failed with exit code 137.")
    assert done.details["results"][0]["exitCode"] == 137


async def test_what_a_process_said_itself_is_the_error(opened):
    error = broken("Task task_1 backend failed: boom", cause="boom", exit_code=3)
    async with opened(failing(error)) as ohm:
        done = await ohm.call("subagent", ASK)
    assert done.text.startswith("Subagent failed with exit code 3.\n\nError:\nboom\n\n")


async def test_a_process_that_answers_and_ends_with_another_exit_code_than_zero_has_failed(opened):
    async def act(_request, sink):
        sink.emit(TextDelta(text="The answer"))
        sink.emit(AgentEnded())
        await anyio.lowlevel.checkpoint()
        return Ok(RunOutput(text="The answer", exit_code=3))

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
        assert len(ohm.acting.requests) == 1
    assert done.text.startswith("Subagent failed with exit code 3.\n\nLast captured output:\nThe answer\n\n")
    assert done.details["error"]["code"] == "SUBAGENT_FAILED"


async def test_searches_that_find_nothing_are_no_loop(opened):
    async def act(_request, sink):
        for number in range(30):
            sink.emit(ToolStarted(call_id=f"{number}", tool="grep", args=f'{{"pattern":"{number}"}}'))
            sink.emit(ToolEnded(call_id=f"{number}", tool="grep", status="success", text="No matches found"))
            await anyio.lowlevel.checkpoint()
        return "Nowhere."

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
    assert (done.text, "notes" in done.details["results"][0]) == ("Nowhere.", False)


# What is kept


def turns(count):
    async def act(_request, sink):
        for number in range(count):
            sink.emit(TextDelta(text=f"Step {number}"))
            sink.emit(ToolStarted(call_id=f"{number}", tool="grep", args=f'{{"n":{number}}}'))
            sink.emit(UsageAdded(usage=Usage(requests=1)))
            sink.emit(ToolEnded(call_id=f"{number}", tool="grep", status="success", text=f"{number}"))
            if number % 50 == 0:
                await anyio.lowlevel.checkpoint()
        return "end"

    return act


async def test_every_message_of_a_long_run_is_kept_from_the_prompt_on(opened, place):
    async with opened(turns(400)) as ohm:
        done = await ohm.call("subagent", ASK)
    (one,) = done.details["results"]
    assert one["displayItems"][0] == {"type": "text", "text": "Step 0"}
    assert len(one["displayItems"]) == 801
    text = await anyio.Path(one["sessionFile"].replace("~", str(place))).read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["message"]["role"] for line in lines[1:4]] == ["user", "assistant", "toolResult"]
    assert len(lines) == 1 + 1 + 2 * 400 + 1


async def test_a_run_that_does_more_lines_than_can_be_kept_is_stopped(opened, monkeypatch):
    monkeypatch.setattr(child_run, "MAX_LINES", 100)
    async with opened(turns(100)) as ohm:
        done = await ohm.call("subagent", ASK)
    assert "Subagent output exceeded the JSONL lines hard limit (100)." in done.text
    (one,) = done.details["results"]
    assert (done.details["error"]["code"], one["exitCode"]) == ("SUBAGENT_OUTPUT_TRUNCATED", 1)
    assert 60 < len(one["displayItems"]) < 70


async def test_as_many_lines_as_can_be_kept_are_no_flood(opened, monkeypatch):
    monkeypatch.setattr(child_run, "MAX_LINES", 3 * 33)  # a turn is a call, its result and what it used
    async with opened(turns(33)) as ohm:
        assert (await ohm.call("subagent", ASK)).text.startswith("end")
    monkeypatch.setattr(child_run, "MAX_LINES", 3 * 33 - 1)
    async with opened(turns(33)) as ohm:
        assert "lines hard limit (98)" in (await ohm.call("subagent", ASK)).text


@pytest.mark.slow
async def test_a_run_that_does_more_than_can_be_kept_is_stopped(opened):
    async with opened(turns(100_000)) as ohm:
        done = await ohm.call("subagent", ASK)
    assert "Subagent output exceeded the JSONL lines hard limit (10000)." in done.text
    (one,) = done.details["results"]
    assert (done.details["error"]["code"], one["exitCode"]) == ("SUBAGENT_OUTPUT_TRUNCATED", 1)
    assert 6000 < len(one["displayItems"]) < 7000
