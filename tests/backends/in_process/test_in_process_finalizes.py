"""A model in this process that has to hand in its answer."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from model_server import Call, ModelServer, Say
from references import TREE, references, target

from ohm_subagents import Budget, LoopPolicy, Ohm
from ohm_subagents.contract import Profile
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

FINALIZE = "subagent_finalize"
SEER = Profile(id="seer", name="Seer", summary="Sees.", prompt="See.", finalize="required", backend="interactive-sdk")


def final(result):
    return Say(Call(FINALIZE, {"status": "SUCCESS", "result": result}))


@asynccontextmanager
async def opened(server, profile=SEER, **subagents):
    config = {"providers": {"acme": {"baseUrl": server.url}}, "subagents": {"model": "acme/m1", **subagents}}
    async with Ohm.open(env=HERMETIC, config=config, profiles=[profile]) as ohm:
        yield ohm


async def task_of(server, profile=SEER, *, subagents=None, **asked):
    async with opened(server, profile, **subagents or {}) as ohm:
        handle = await ohm.start("seer", "look", **asked)
        await handle.wait()
        return ohm.task(handle.id)


async def test_every_reference_of_the_schema_that_a_model_is_sent_leads_to_what_it_means():
    tree = {"name": "a", "child": {"name": "b", "pair": [{"name": "c"}]}}
    profile = replace(SEER, result_schema=TREE)
    async with ModelServer(final({"name": "a", "child": {"name": ""}}), final(tree), Say("Bye.")) as server:
        task = await task_of(server, profile)
        (tool,) = (one["function"] for one in server.requests[0].body["tools"] if one["function"]["name"] == FINALIZE)

    sent = tool["parameters"]
    assert task.output == '{"name":"a","child":{"name":"b","pair":[{"name":"c"}]}}'
    assert "'result.child.name' does not fit" in server.requests[1].tool_results[-1]
    assert len(references(sent)) == len(references(TREE))
    properties = sent["properties"]["result"]["properties"]
    assert target(sent, properties["name"]["$ref"]) == TREE["$defs"]["leaf"]
    assert target(sent, properties["alias"]["$ref"]) == properties["name"]
    assert target(sent, properties["child"]["$ref"]) == sent["properties"]["result"]
    pair = target(sent, properties["pair"]["$ref"])
    assert target(sent, pair["items"]["$ref"]) == sent["properties"]["result"]


CIRCLING = LoopPolicy(identical_calls=2, steps=("finish", "stop"))
LOOK = Call("ls", {"path": "."})


async def test_who_went_in_circles_is_told_to_hand_in_its_answer_and_can():
    replies = (Say(LOOK), Say(LOOK), Say(Call("read", {"path": "x"})), final("so far"), Say("Bye."))
    async with ModelServer(*replies) as server:
        task = await task_of(server, loop=CIRCLING)
        asked = server.requests

    assert (task.status, task.output, len(task.runs)) == ("succeeded", "so far", 1)
    assert FINALIZE in asked[1].tool_names
    assert "ls" in asked[1].tool_names
    assert [one.tool_names for one in asked[2:]] == [[FINALIZE], [FINALIZE], []]
    assert f"Call {FINALIZE} now with what you have found so far" in asked[2].prompt
    assert f"call {FINALIZE} now" in asked[3].tool_results[-1], "another tool is refused, and says what is left"
    assert asked[4].prompt == "look", "who has handed in its answer is not told to do so"


async def test_the_last_request_of_a_budget_can_hand_in_the_answer():
    profile = replace(SEER, budget=Budget(requests=2))
    async with ModelServer(Say(LOOK), final("so far")) as server:
        task = await task_of(server, profile)
        asked = server.requests

    assert (task.status, task.output) == ("succeeded", "so far")
    assert [one.tool_names for one in asked[1:]] == [[FINALIZE]]
    assert f"the last request that the budget allows: call {FINALIZE} now" in asked[1].prompt


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("raw", "said"),
    [('{"status": "SUCC', "Invalid JSON"), ('"SUCCESS"', "an object"), ("[]", "an object"), ("null", "an object")],
)
async def test_arguments_that_cannot_be_read_are_told_and_cost_no_run(raw, said):
    replies = (Say(Call(FINALIZE, raw=raw)), Say("That is it."), final("at last"), Say("Bye."))
    async with ModelServer(*replies) as server:
        task = await task_of(server)
        asked = server.requests

    assert (task.output, len(task.runs)) == ("at last", 2)
    assert said in asked[1].tool_results[-1]
    assert "your call was refused" in asked[2].prompt
    assert said in asked[2].prompt
