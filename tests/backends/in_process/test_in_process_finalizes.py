"""A model in this process that has to hand in its answer."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from model_server import Call, ModelServer, Say
from references import TREE, references, target

from ohm_subagents import Ohm
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
