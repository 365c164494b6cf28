"""A real `pi` whose answers are handed in: the extension that ships, corrections, and a conversation over restarts."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from model_server import Call, ModelServer, Say
from real_pi import NEW, OLD
from references import TREE, references, target

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.contract import Profile

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real_pi,
    pytest.mark.slow,
    pytest.mark.timeout(100, func_only=True),
]

# The newest is here as one file, without what loads extensions.
with_extensions = pytest.mark.parametrize("pi", [OLD, NEW], indirect=True)
one_version = pytest.mark.parametrize("pi", [NEW], indirect=True)
FINALIZE = "subagent_finalize"
SCOUT = "---\nname: scout\ndescription: Looks.\napproved_tools: [read, bash]\n---\nYou look.\n"
PROFILE = Profile(id="seer", name="Seer", summary="Sees.", prompt="See.", finalize="required")


def final(**arguments):
    return Say(Call(FINALIZE, arguments))


@asynccontextmanager
async def opened(desk, server, **options):
    (desk.work / "prompts").mkdir(exist_ok=True)
    (desk.work / "prompts" / "scout.md").write_text(SCOUT)
    config = desk.config(server, **options)
    async with Ohm.open(
        cwd=desk.work, trust=True, env=desk.env, config=config, suites=["sticky"], profiles=[PROFILE]
    ) as ohm:
        yield ohm


@with_extensions
async def test_three_turns_of_one_session_go_on_over_a_restart_of_the_host(desk):
    replies = [final(status="SUCCESS", result=f"answer {n}") for n in range(3)]
    async with ModelServer(*replies) as server:
        async with opened(desk, server) as ohm:
            first = await ohm.call("subagent", {"agent": "scout", "task": "one"})
            session = {"agent": "scout", "sessionId": first.details["sessionId"]}
            second = await ohm.call("subagent", session | {"task": "two"})
        async with opened(desk, server) as ohm:
            third = await ohm.call("subagent", session | {"task": "three"})
            diagnostics = [one.message for one in ohm.diagnostics]
        asked = server.requests
    results = [one.details["finalized"].get("result") for one in (first, second, third)]
    assert results == ["answer 0", "answer 1", "answer 2"], [first.text, second.text, third.text]
    assert len(asked) == 3  # handing in ends the run
    told = [message["content"] for message in asked[2].messages if message["role"] == "user"]
    assert "one" in f"{told[0]}"
    assert "two" in f"{told[1]}"
    assert asked[2].prompt == "three"
    assert sorted(asked[0].tool_names) == ["bash", "read", FINALIZE]
    assert "End with a call" in asked[0].messages[0]["content"]
    assert diagnostics == []
    (file,) = (desk.home / ".pi" / "subagent-sessions").glob("*/*.jsonl")
    assert "three" in file.read_text()


@one_version
async def test_a_child_that_never_hands_in_its_answer_is_corrected_twice_and_then_it_is_an_error(desk):
    async with ModelServer(Say("a"), Say("b"), Say("c")) as server, opened(desk, server) as ohm:
        result = await ohm.call("subagent", {"agent": "scout", "task": "one"})
        asked = server.requests
    assert len(asked) == 3
    assert FINALIZE in asked[1].prompt
    assert "did not call it" in asked[2].prompt
    assert result.text.startswith("**Status:** ERROR\n")
    assert FINALIZE in result.text
    assert "3 attempts" in result.text


@with_extensions
async def test_a_call_that_is_invalid_or_not_the_last_one_is_told_so(desk):
    replies = (
        final(status="SUCCESS", result=" "),
        final(status="SUCCESS", result="right"),
    )
    async with ModelServer(*replies) as server, opened(desk, server) as ohm:
        result = await ohm.call("subagent", {"agent": "scout", "task": "one"})
        refusal = server.requests[1].tool_results[-1]
    assert "SUCCESS requires a result" in refusal
    assert result.details["finalized"] == {"status": "SUCCESS", "result": "right"}


@with_extensions
async def test_any_profile_may_demand_a_result_of_a_schema_on_a_pi_that_stays(desk):
    profile = replace(PROFILE, result_schema={"type": "object", "required": ["files"]})
    replies = (Say("I am done."), final(status="SUCCESS", result={"files": ["a"]}))
    config = {"profiles": [profile]}
    async with ModelServer(*replies) as server:
        async with Ohm.open(cwd=desk.work, trust=True, env=desk.env, config=desk.config(server), **config) as ohm:
            output = (await ohm.run("seer", "go")).ok_value.output
        tools = [one["function"] for one in server.requests[0].body["tools"]]
    assert output == '{"files":["a"]}'
    (given,) = (one["parameters"]["properties"]["result"] for one in tools if one["name"] == FINALIZE)
    assert given["required"] == ["files"]


@one_version
async def test_a_schema_that_refers_to_its_own_parts_is_whole_where_the_model_sees_it(desk):
    profile = replace(PROFILE, result_schema=TREE)
    wrong, right = {"name": "a", "child": {"name": ""}}, {"name": "a", "child": {"name": "b"}}
    replies = [final(status="SUCCESS", result=result) for result in (wrong, right)]
    async with ModelServer(*replies) as server:
        async with Ohm.open(cwd=desk.work, env=desk.env, config=desk.config(server), profiles=[profile]) as ohm:
            output = (await ohm.run("seer", "go")).ok_value.output
        tools = [one["function"] for one in server.requests[0].body["tools"]]
    assert output == '{"name":"a","child":{"name":"b"}}'
    (sent,) = (one["parameters"] for one in tools if one["name"] == FINALIZE)
    assert len(references(sent)) == len(references(TREE))
    assert all(target(sent, reference) for reference in references(sent))


@one_version
async def test_plain_text_cannot_tell_of_it_and_says_so(desk):
    async with ModelServer() as server, opened(desk, server, mode="text") as ohm:
        error = (await ohm.run("seer", "go")).err_value
    assert error.code == ErrorCode.FINALIZE_UNSUPPORTED
