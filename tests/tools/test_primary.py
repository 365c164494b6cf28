"""Direct tools: made of profile data, one engine and one envelope with `task`."""

import json
from dataclasses import replace

import anyio
import pytest

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.plugin import InputSpec, Profile
from ohm_subagents.testing import HERMETIC, EventLog, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio

LIBRARIAN = Profile(
    id="librarian",
    name="Librarian",
    summary="Knows.",
    prompt="",
    primary=True,
    when_to_use=("Always.",),
    inputs=(
        InputSpec(name="query", role="prompt", required=True),
        InputSpec(name="context", role="context"),
        InputSpec(name="files", role="files"),
        InputSpec(name="description", role="description"),
    ),
)
PAINTER = Profile(id="painter", name="Painter", summary="Paints.", prompt="", primary=True)
START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}
HIDDEN = Profile(id="ghost", name="Ghost", summary="Boo.", prompt="", primary=True, internal=True)


def opened(*profiles, **options):
    backend = ScriptedBackend(default=Step(text="done"))
    return Ohm.open(
        env=HERMETIC, config={"subagentBackend": "scripted"}, plugins=[backend], profiles=profiles, **options
    )


@pytest.mark.parametrize(
    ("profile", "payload", "prompt"),
    [
        (LIBRARIAN, {"query": " How? "}, "How?"),
        (LIBRARIAN, {"query": "q", "context": "  "}, "q"),
        (LIBRARIAN, {"query": " ", "prompt": "legacy"}, "legacy"),
        (LIBRARIAN, {"query": "l1\n\nl2", "context": "c1\nc2"}, "l1\n\nl2\n\nContext:\nc1\nc2"),
        (
            LIBRARIAN,
            {"query": "q", "context": "bg", "files": ["a.ts", " b.ts ", "", 3]},
            "q\n\nContext:\nbg\n\nFiles:\n- a.ts\n- b.ts\nInspect these paths first.",
        ),
        (LIBRARIAN, {"query": "q", "files": ["  "]}, "q"),
        (PAINTER, {"prompt": "draw"}, "draw"),
    ],
)
async def test_the_fields_become_one_prompt(profile, payload, prompt):
    async with opened(profile) as ohm:
        details = (await ohm.call(profile.id, payload)).details

    assert (details["status"], details["prompt"], details["invocation"]) == ("succeeded", prompt, "primary-tool")
    assert details["description"] == f"{profile.name} direct tool request"


@pytest.mark.parametrize(
    ("profile", "payload", "message"),
    [
        (LIBRARIAN, None, "Primary tool payload for 'librarian' must be an object"),
        (LIBRARIAN, ["q"], "Primary tool payload for 'librarian' must be an object"),
        (LIBRARIAN, {}, "librarian requires 'query' (or legacy 'prompt')"),
        (LIBRARIAN, {"query": 3}, "'query' of 'librarian' must be text"),
        (LIBRARIAN, {"query": "q", "files": "a"}, "'files' of 'librarian' must be a list"),
        (LIBRARIAN, {"query": "q", "async": "true"}, "'async' of 'librarian' must be true or false"),
        (PAINTER, {"query": "draw"}, "primary tool 'painter' requires 'prompt'"),
    ],
)
async def test_an_unusable_payload_says_what_is_missing(profile, payload, message):
    async with opened(profile) as ohm:
        result = await ohm.call(profile.id, payload)

    assert result.is_error
    assert (result.details["error_code"], result.details["error_message"]) == (
        ErrorCode.INVALID_PRIMARY_PAYLOAD,
        message,
    )
    assert (result.details["subagent_type"], result.details["backend"]) == (profile.id, "task")


async def test_the_schema_has_the_fields_of_the_profile_and_the_legacy_one():
    async with opened(LIBRARIAN) as ohm:
        schema = ohm.tools["librarian"].input_schema

    assert list(schema["properties"]) == ["query", "context", "files", "description", "prompt", "async"]
    assert schema["required"] == ["query"]
    assert schema["properties"]["files"] == {
        "type": "array",
        "minItems": 1,
        "items": {"type": "string", "minLength": 1},
    }


@pytest.mark.parametrize(
    ("entries", "tools"),
    [
        ({}, ["librarian"]),
        ({"oracle": {"primary": True}, "Finder": {"primary": True}}, ["librarian", "oracle", "finder"]),
        ({"librarian": {"primary": False}}, []),
        ({"librarian": {"model": "local/search"}, "oracle": {"primary": None}}, ["librarian"]),
    ],
)
async def test_ohm_json_says_which_subagents_are_direct_tools(entries, tools):
    async with Ohm.open(env=HERMETIC, config={"subagents": entries}) as ohm:
        assert [name for name in ohm.tools if name != "task"] == tools
        assert {profile.id for profile in ohm.profiles} >= {"librarian", "oracle", "finder"}


async def test_the_description_says_when_to_use_it_and_the_other_route():
    async with opened(LIBRARIAN) as ohm:
        tool = ohm.tools["librarian"]

    assert tool.description == (
        "Knows.\n\nWhen to use:\n- Always.\n\nInvocation mode: primary-tool\n"
        "Task route still available via: task op=start subagent_type=librarian\n\n"
        "Input: query (required), context (optional), files[] (optional)"
    )
    assert tool.render_call({"query": "q", "description": "Look"}) == "librarian · Look"
    assert tool.render_call(None) == "librarian"


async def test_an_internal_profile_has_no_direct_tool_unless_routing_is_allowed():
    async with opened(LIBRARIAN, HIDDEN) as ohm:
        assert list(ohm.tools) == ["task", "librarian"]


async def test_a_profile_named_like_a_mounted_tool_is_skipped_with_a_diagnostic():
    clash = Profile(id="task", name="Task", summary="Works.", prompt="", primary=True)
    async with opened(clash) as ohm:
        assert list(ohm.tools) == ["task"]
        assert [diagnostic.subject for diagnostic in ohm.diagnostics] == ["task"]


async def test_ignored_keys_are_named():
    async with opened(LIBRARIAN) as ohm:
        details = (await ohm.call("librarian", {"query": "q", "foo": 1})).details

    assert details["diagnostics"] == ["Ignored unknown key 'foo'."]


async def test_progress_frames_are_full_envelopes():
    frames, log = [], EventLog()
    async with quick_ohm(plugins=[log]) as ohm:
        await ohm.call("librarian", {"query": "q"}, on_update=frames.append)

    assert [frame.details["status"] for frame in frames] == ["running", "succeeded"]
    assert all(frame.details["contract_version"] == "task.v1" for frame in frames)


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ({"query": "a", "prompt": "b"}, ["prompt"]),
        ({"query": "a", "prompt": 3}, ["prompt"]),
        ({"query": "a", "prompt": " "}, []),
        ({"query": "a", "files": ["b", 3, "", None]}, ["files.1"]),
        ({"speed": 3}, ["speed"]),
        ({"query": 3, "speed": 3}, ["speed"]),
        ({"query": "q", "context": "c", "background": "d"}, ["background"]),
    ],
)
async def test_what_counts_for_nothing_is_named_whether_the_call_fails_or_not(payload, named):
    async with opened(LIBRARIAN) as ohm:
        details = (await ohm.call("librarian", payload)).details
    said = details.get("diagnostics", [])
    assert [line.split("'")[1] for line in said] == named


async def test_null_is_the_default_of_an_optional_field():
    nulls = {"context": None, "files": None, "description": None, "prompt": None, "async": None}
    async with opened(LIBRARIAN) as ohm:
        details = (await ohm.call("librarian", {"query": "q"} | nulls)).details
    assert (details["status"], details["prompt"]) == ("succeeded", "q")
    assert "diagnostics" not in details


@pytest.mark.parametrize("payload", [None, {}, {"query": 3}, {"query": "q", "async": "yes"}, {"prompt": 3}])
async def test_every_refusal_lists_the_fields_required_first(payload):
    swapped = replace(LIBRARIAN, inputs=LIBRARIAN.inputs[::-1])
    async with opened(swapped) as ohm:
        details = (await ohm.call("librarian", payload)).details
    assert (details["error_code"], details["error_advice"]) == (
        "invalid_primary_tool_payload",
        "Fields: query (text, required), description (text), files (list of texts), context (text), prompt (text), "
        "async (true or false).",
    )


async def test_what_a_model_is_told_of_background_work_follows_the_configuration():
    async with quick_ohm(Step(text="done", gate=anyio.Event()), config={"subagents": {"asyncStart": "allow"}}) as ohm:
        task, librarian = ohm.tools["task"], ohm.tools["librarian"]
        started = await ohm.call("task", {**START, "async": True})
        await anyio.wait_all_tasks_blocked()
        waiting = json.loads(started.text.rpartition("call task: ")[2])

        assert "is disabled" not in task.description
        assert "async: true" in task.description
        for schema in (task.input_schema, librarian.input_schema):
            assert "op wait" in schema["properties"]["async"]["description"]
        assert waiting == {"op": "wait", "ids": [started.details["task_id"]]}


async def test_a_model_is_told_of_no_background_work_where_there_is_none():
    async with quick_ohm() as ohm:
        told = await ohm.call("task", START)

        assert "Async/background start mode is disabled." in ohm.tools["task"].description
        assert "Not allowed by default." in ohm.tools["task"].input_schema["properties"]["async"]["description"]
        assert "background" not in told.text
