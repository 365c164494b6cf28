"""The order of house 9.6, as far as somebody names a model."""

from dataclasses import replace

import pytest

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents._orchestrator.admission.model_order import named_model
from ohm_subagents.contract import ModelPattern, Profile
from ohm_subagents.testing import HERMETIC, ScriptedBackend

pytestmark = pytest.mark.anyio

PLAIN = Profile(id="finder", name="Finder", summary="Finds.", prompt="Find.")
WRITTEN = replace(PLAIN, model=ModelPattern(provider="acme", model="profile"))
OWN, COMMON = {"finder": {"model": "acme/own"}}, {"model": "acme/common"}


@pytest.mark.parametrize(
    ("typed", "profile", "config", "model", "by"),
    [
        ("acme/typed", WRITTEN, OWN | COMMON, "acme/typed", "call"),
        (None, WRITTEN, OWN | COMMON, "acme/own", "subagent"),
        (None, WRITTEN, COMMON, "acme/profile", "profile"),
        (None, PLAIN, COMMON, "acme/common", "common"),
        (None, PLAIN, {}, None, None),
    ],
)
async def test_the_first_that_names_a_model_decides_and_is_known(typed, profile, config, model, by):
    backend = ScriptedBackend("done")
    config = {"subagentBackend": "scripted", "subagents": config}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[backend], profiles=[profile]) as ohm:
        subagents = ohm.config.subagents
        named = named_model(typed, profile, subagents.entry("finder"), subagents).ok_value
        await ohm.run("finder", "x", model=typed)

    assert (named and (str(named.pattern), named.by)) == (model and (model, by))
    assert backend.calls[0].model == (named and named.pattern)


async def test_a_typed_model_that_is_no_pattern_is_refused_whatever_is_configured():
    config = {"subagentBackend": "scripted", "subagents": OWN | COMMON}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[ScriptedBackend()], profiles=[WRITTEN]) as ohm:
        assert (await ohm.run("finder", "x", model="big")).err_value.code == ErrorCode.INVALID_MODEL


@pytest.mark.parametrize(
    ("profile", "config", "key"),
    [
        (PLAIN, {"finder": {"model": "big"}} | COMMON, "subagents.finder.model"),
        (WRITTEN, {"finder": {"model": 5}} | COMMON, "subagents.finder.model"),
        (PLAIN, {"model": "big"}, "subagents.model"),
    ],
)
async def test_a_configured_model_that_is_none_lets_no_other_one_run(profile, config, key):
    backend = ScriptedBackend("done")
    config = {"subagentBackend": "scripted", "subagents": config}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[backend], profiles=[profile]) as ohm:
        refused = (await ohm.run("finder", "x")).err_value
        assert await ohm.run("finder", "x", model="acme/typed")
    assert (refused.code, refused.category) == (ErrorCode.INVALID_MODEL, "validation")
    assert refused.message.startswith(f"config: '{key}' is ")
    assert [str(call.model) for call in backend.calls] == ["acme/typed"]


async def test_a_model_that_nobody_would_run_on_is_no_obstacle():
    backend = ScriptedBackend("done")
    config = {"subagentBackend": "scripted", "subagents": {"model": "big"} | OWN}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[backend], profiles=[PLAIN]) as ohm:
        await ohm.run("finder", "x")
    assert [str(call.model) for call in backend.calls] == ["acme/own"]
