"""The words of a caller are understood or refused by name; nothing is dropped in silence (task-v1, 22)."""

import json

import pytest
from loops import one_loop

from ohm_subagents.contract import Diagnostic, DiagnosticRaised
from ohm_subagents.testing import ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """One loop is enough: the rows differ in payloads alone."""
    return "asyncio"


ONE = {"subagent_type": "finder", "description": "d", "prompt": "p"}
START = {"op": "start", **ONE}


async def answer(payload, **changes):
    async with quick_ohm(backend=ScriptedBackend(), **changes) as ohm:
        return (await ohm.call("task", payload)).details


def refused(details):
    """The field that is said to be wrong, once it is clear that the payload was refused."""
    assert (details["error_code"], details["error_category"]) == ("invalid_task_tool_payload", "validation")
    assert "task_id" not in details
    return details["summary"].partition(" at ")[2]


@pytest.mark.parametrize(
    ("payload", "path", "said"),
    [
        (START | {"async": "true"}, "async", "'async' is \"true\"; allowed: true or false."),
        (START | {"async": 1}, "async", "'async' is 1; allowed: true or false."),
        ({"op": "start", "tasks": [ONE], "parallel": "true"}, "parallel", "allowed: true or false."),
        ({"op": "start", "tasks": [ONE | {"async": "no"}]}, "tasks.0.async", "allowed: true or false."),
        ({"op": "wait", "id": "t", "timeout_ms": 1.5}, "timeout_ms", "'timeout_ms' is 1.5; allowed: a whole number"),
        ({"op": "wait", "id": "t", "timeout_ms": "10"}, "timeout_ms", "allowed: a whole number of milliseconds"),
        ({"op": "wait", "id": "t", "timeout_ms": True}, "timeout_ms", "allowed: a whole number of milliseconds"),
        (
            {"op": "wait", "id": "t", "timeout_ms": 0},
            "timeout_ms",
            "allowed: a whole number of milliseconds, 1 or more",
        ),
        ({"op": "wait", "id": "t", "timeout_ms": float("inf")}, "timeout_ms", "allowed: a whole number"),
        ({"op": "wait", "id": "t", "timeout_ms": float("nan")}, "timeout_ms", "allowed: a whole number"),
    ],
)
@one_loop
async def test_a_coercion_that_loses_meaning_is_an_error(payload, path, said):
    details = await answer(payload)
    assert refused(details) == path
    assert details["error_message"].startswith(
        f"Task tool payload failed validation at {path} (path: {path}): '{path}' is"
    )
    assert said in details["error_message"]


@pytest.mark.parametrize("milliseconds", [10, 10.0, 10**15, 10**400])
@one_loop
async def test_a_whole_number_is_a_timeout_however_it_is_written(milliseconds):
    details = await answer({"op": "wait", "id": "t", "timeout_ms": milliseconds})
    assert (details["wait_status"], details["items"][0]["error_code"]) == ("completed", "unknown_task_id")


@pytest.mark.parametrize("op", ["status", "wait", "result"])
@pytest.mark.parametrize("ids", [[], "", None])
@one_loop
async def test_empty_ids_do_not_hide_an_id(op, ids):
    details = await answer({"op": op, "ids": ids, "id": "task_7"})
    assert [item["id"] for item in details["items"]] == ["task_7"]


@pytest.mark.parametrize(
    ("op", "ids", "path"),
    [
        ("status", [3], "ids.0"),
        ("status", ["task_1", None, "task_2"], "ids.1"),
        ("wait", ["task_1", " "], "ids.1"),
        ("wait", {"id": "task_1"}, "ids"),
        ("status", 3, "ids"),
    ],
)
@one_loop
async def test_an_id_that_is_no_text_is_refused_by_name(op, ids, path):
    assert refused(await answer({"op": op, "ids": ids})) == path


@pytest.mark.parametrize("op", ["send", "cancel"])
async def test_the_id_of_a_single_op_is_held_to_the_same_rule(op):
    assert refused(await answer({"op": op, "id": 3, "prompt": "p"})) == "id"


@pytest.mark.parametrize("payload", [{"op": "status", "ids": [" task_1\n"]}, {"op": "wait", "id": "\ttask_1 "}])
async def test_ids_are_trimmed_by_every_op(payload):
    async with quick_ohm("done") as ohm:
        await ohm.run("finder", "p")
        seen = (await ohm.call("task", payload)).details
        sent = (await ohm.call("task", {"op": "send", "id": " task_1 ", "prompt": "more"})).details
        cancelled = (await ohm.call("task", {"op": "cancel", "id": "task_1  "})).details

    assert [(item["id"], item["status"]) for item in seen["items"]] == [("task_1", "succeeded")]
    assert (sent["task_id"], sent["error_code"]) == ("task_1", "task_not_resumable")
    assert (cancelled["task_id"], cancelled["cancel_applied"]) == ("task_1", False)


@pytest.mark.parametrize(
    ("payload", "op", "path"),
    [
        ({"op": " wait "}, "wait", "ids"),
        ({"op": "\tresult\n"}, "status", "ids"),
        ({"op": "send ", "id": "t"}, "send", "prompt"),
        ({"op": " cancel"}, "cancel", "id"),
        ({"op": " start", "tasks": []}, "start", "tasks"),
    ],
)
async def test_a_padded_op_is_told_as_the_op_that_it_is(payload, op, path):
    details = await answer(payload)
    assert (details["op"], refused(details)) == (op, path)


async def test_a_padded_op_is_carried_out():
    async with quick_ohm("done") as ohm:
        assert (await ohm.call("task", START | {"op": " start "})).details["status"] == "succeeded"


@pytest.mark.parametrize("op", ["help", "  help "])
async def test_help_names_the_ops_padded_or_not(op):
    async with quick_ohm(backend=ScriptedBackend()) as ohm:
        result = await ohm.call("task", {"op": op})
    assert "start, status, wait, send" in result.text
    assert "invalid_task_tool_payload" not in json.dumps(result.details)


async def test_unknown_keys_are_ignored_and_named():
    payload = {"op": "start", "tasks": [ONE | {"priority": 1}], "parralel": True, "prompt": "x"}
    async with quick_ohm("done") as ohm:
        result = await ohm.call("task", payload)
    assert result.details["items"][0]["status"] == "succeeded"
    assert result.details["diagnostics"] == [
        "Ignored unknown key 'parralel'.",
        "Ignored 'prompt', because 'tasks' counts.",
        "Ignored unknown key 'tasks.0.priority'.",
    ]
    assert result.text.endswith("\n".join(f"note: {each}" for each in result.details["diagnostics"]))


async def test_what_the_task_notes_is_told_beside_an_unknown_key():
    noted = DiagnosticRaised(diagnostic=Diagnostic(subject="model", message="It was cut off."))
    async with quick_ohm(Step(text="done", events=(noted,))) as ohm:
        result = await ohm.call("task", START | {"speed": 3})
    assert result.details["diagnostics"] == ["It was cut off.", "Ignored unknown key 'speed'."]
    assert "note (task_1): It was cut off.\nnote: Ignored unknown key 'speed'." in result.text


@pytest.mark.parametrize("op", ["status", "wait", "send", "cancel"])
async def test_unknown_keys_of_every_op_are_named(op):
    async with quick_ohm("done") as ohm:
        await ohm.run("finder", "p")
        details = (await ohm.call("task", {"op": op, "id": "task_1", "prompt": "p", "speed": 3})).details
    named = ["Ignored unknown key 'speed'."]
    assert details["diagnostics"] == (
        named if op == "send" else [f"Ignored 'prompt': op {op} does not take it.", *named]
    )


@pytest.mark.parametrize("field", ["description", "prompt"])
@pytest.mark.parametrize("text", [" ", "\n\t", ""])
@one_loop
async def test_a_blank_text_is_refused_by_name_and_consumes_no_id(field, text):
    async with quick_ohm("done") as ohm:
        assert refused((await ohm.call("task", START | {field: text})).details) == field
        batch = {"op": "start", "tasks": [ONE, ONE | {field: text}]}
        assert refused((await ohm.call("task", batch)).details) == f"tasks.1.{field}"
        assert (await ohm.call("task", START)).details["task_id"] == "task_1"


@pytest.mark.parametrize("prompt", [" ", "", "\n", None, 3])
async def test_a_blank_follow_up_is_refused_and_reaches_nobody(prompt):
    backend = ScriptedBackend("done")
    async with quick_ohm(backend=backend) as ohm:
        await ohm.run("finder", "p")
        assert refused((await ohm.call("task", {"op": "send", "id": "task_1", "prompt": prompt})).details) == "prompt"
    assert len(backend.calls) == 1


@pytest.mark.parametrize(
    ("payload", "path", "advice"),
    [
        (
            {"op": "start", "tasks": {"prompt": "p"}},
            "tasks",
            '\'tasks\' is {"prompt": "p"}; allowed: a list.',
        ),
        ({"op": "start", "tasks": "x", "prompt": "p"}, "tasks", "'tasks' is \"x\"; allowed: a list."),
        ({"op": "status", "id": 5}, "id", "'id' is 5; allowed: a non-blank text."),
        ({"op": "wait", "id": ["a", 5]}, "id.1", "'id.1' is 5; allowed: a non-blank text."),
        (
            {"op": "status", "id": None},
            "ids",
            "'ids' is missing; it is required. Give one task as 'id', or several as 'ids'.",
        ),
        ({"id": "a"}, "op", "'op' is missing; allowed: start, status, wait, send, cancel."),
        (
            {"op": "strat"},
            "op",
            "'op' is \"strat\"; allowed: start, status, wait, send, cancel. Did you mean 'start'?",
        ),
        (
            {"op": "lan"},
            "op",
            "'op' is \"lan\"; allowed: start, status, wait, send, cancel. Did you mean 'land'?",
        ),
        ({"op": None}, "op", "'op' is null; allowed: start, status, wait, send, cancel."),
        (
            {"op": "answer", "request": "req_1_task_1", "decision": "approve"},
            "op",
            "'op' is \"answer\"; allowed: start, status, wait, send, cancel. No subagent here can ask, so there is no "
            "request to answer.",
        ),
        (
            {"op": "cancel", "ids": ["x"]},
            "id",
            "'id' is missing; it is required. cancel takes one 'id', not 'ids'.",
        ),
    ],
)
@one_loop
async def test_the_field_that_was_written_is_the_one_that_is_blamed(payload, path, advice):
    details = await answer(payload)
    reason = f"Task tool payload failed validation at {path} (path: {path}): {advice}"
    assert (refused(details), details["error_message"]) == (path, reason)


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ({"op": "status", "ids": ["a"], "id": "b"}, ["id"]),
        ({"op": "status", "ids": ["a"], "id": "a"}, []),
        ({"op": "status", "ids": ["a"], "id": None, "tasks": None, "timeout_ms": None}, []),
        ({"op": "start", "subagent_type": "finder", "speed": 3}, ["speed"]),
        ({"op": "start", "tasks": [{"pace": 1}], "speed": 3}, ["speed", "tasks.0.pace"]),
        ({"op": "stop", "id": "a", "speed": 3}, ["speed"]),
        ({"op": "help", "topic": "start"}, ["topic"]),
        ({"op": "cancel", "ids": ["x"]}, ["ids"]),
    ],
)
@one_loop
async def test_what_counts_for_nothing_is_named_whether_the_call_fails_or_not(payload, named):
    details = await answer(payload)
    said = details.get("diagnostics", [])
    assert [line.split("'")[1] for line in said] == named


async def test_null_is_the_default_of_an_optional_field():
    nulls = {"async": None, "parallel": None, "timeout_ms": None, "tasks": None, "ids": None, "id": None}
    async with quick_ohm("done", "done") as ohm:
        single = (await ohm.call("task", START | nulls)).details
        batch = (await ohm.call("task", nulls | {"op": "start", "tasks": [ONE | {"async": None}]})).details
        waited = (await ohm.call("task", nulls | {"op": "wait", "ids": ["task_1"]})).details
    assert (single["status"], batch["items"][0]["status"], waited["wait_status"]) == (
        "succeeded",
        "succeeded",
        "completed",
    )
    assert not {"diagnostics"} & {*single, *batch, *waited}


@pytest.mark.parametrize("op", ["help", " help "])
async def test_help_is_told_as_a_payload_whose_op_nobody_knows(op):
    details = await answer({"op": op})
    assert (details["op"], details["error_code"], details["error_category"]) == (
        "start",
        "task_operation_not_supported",
        "validation",
    )
