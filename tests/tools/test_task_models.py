"""`model` of `task`: a choice from the menu that is configured, and no field without one."""

import pytest

from ohm_subagents import Ohm
from ohm_subagents.contract import Profile
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

pytestmark = pytest.mark.anyio

FINDER = Profile(id="finder", name="Finder", summary="Finds.", prompt="Find.")
MENU = {"fast": {"model": "acme/small", "fallback": ["deep"]}, "deep": {"model": "acme/big", "thinking": "high"}}
TASK = {"subagent_type": "finder", "description": "d", "prompt": "p"}
START = {"op": "start", **TASK}


def opened(backend, menu=MENU):
    config = {"subagentBackend": "scripted", "subagents": {"models": menu}}
    return Ohm.open(env=HERMETIC, config=config, plugins=[backend], profiles=[FINDER])


def properties(ohm):
    return ohm.tools["task"].input_schema["properties"]


async def test_the_schema_has_the_names_and_what_they_stand_for():
    async with opened(ScriptedBackend()) as ohm:
        field = properties(ohm)["model"]
        assert properties(ohm)["tasks"]["items"]["properties"]["model"] == field
    assert field == {
        "type": "string",
        "enum": ["fast", "deep", "inherit"],
        "description": "The model that does the work; without it the usual one. "
        "fast (acme/small), deep (acme/big:high), inherit (your own).",
    }


async def test_without_a_menu_there_is_no_such_field():
    backend = ScriptedBackend(default=Step(text="done"))
    async with opened(backend, {}) as ohm:
        assert "model" not in properties(ohm)
        result = await ohm.call("task", {**START, "model": "fast"})
        batch = await ohm.call("task", {"op": "start", "tasks": [{**TASK, "model": 5}]})
    assert [call.model for call in backend.calls] == [None, None]
    assert result.details["diagnostics"] == ["Ignored unknown key 'model'."]
    assert batch.details["diagnostics"] == ["Ignored unknown key 'tasks.0.model'."]


async def test_a_call_chooses_by_name():
    backend = ScriptedBackend(default=Step(text="done"))
    async with opened(backend) as ohm:
        one = await ohm.call("task", {**START, "model": "deep"})
        several = {"op": "start", "tasks": [{**TASK, "model": "fast"}, TASK]}
        batch = await ohm.call("task", several)
    assert [str(call.model) for call in backend.calls] == ["acme/big:high", "acme/small", "None"]
    assert one.details["models_used"] == [{"model": "acme/big:high", "why": "asked as deep"}]
    assert [item.get("models_used") for item in batch.details["items"]] == [
        [{"model": "acme/small", "why": "asked as fast"}],
        None,
    ]


@pytest.mark.parametrize(("model", "shown"), [("acme/big", '"acme/big"'), (5, "5"), ("", '""')])
async def test_a_call_chooses_nothing_but_a_name(model, shown):
    async with opened(ScriptedBackend()) as ohm:
        result = await ohm.call("task", {**START, "model": model})
    assert result.details["error_code"] == "invalid_task_tool_payload"
    assert f"'model' is {shown}; allowed: one of fast, deep, inherit." in result.details["error_message"]


async def test_a_misspelt_name_is_refused_with_the_one_that_was_meant():
    async with opened(ScriptedBackend()) as ohm:
        result = await ohm.call("task", {"op": "start", "tasks": [{**TASK, "model": "fsat"}]})
    said = "'tasks.0.model' is \"fsat\"; allowed: one of fast, deep, inherit (did you mean 'fast'?)."
    assert said in result.details["error_message"]


async def test_a_model_of_another_op_is_told():
    backend = ScriptedBackend(default=Step(text="done"))
    async with opened(backend) as ohm:
        done = (await ohm.call("task", START)).details["task_id"]
        result = await ohm.call("task", {"op": "status", "id": done, "model": "fast"})
    assert result.details["diagnostics"] == ["Ignored 'model': op status does not take it."]


async def test_the_model_of_the_agent_that_calls_is_inherited():
    backend = ScriptedBackend(default=Step(text="done"))
    async with opened(backend) as ohm:
        call = await ohm.begin("task", {**START, "model": "inherit"}, parent_model="acme/parent")
        await call.wait()
    assert str(backend.calls[0].model) == "acme/parent"
