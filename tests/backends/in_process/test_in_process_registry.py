"""A model is one that somebody knows: ours, those of ohm.json, and those of models.json of the agent directory."""

import json
import re
from pathlib import Path

import pytest
from model_server import ModelServer, Say, Status

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents._config.jsonc import parse_jsonc
from ohm_subagents.backends.in_process.hooks import ohm_models
from ohm_subagents.backends.in_process.providers import builtin_model_specs
from ohm_subagents.contract import Err, ModelPattern, Ok
from ohm_subagents.contract.services import CompatibleModel, CompatibleProvider
from ohm_subagents.plugin import BackendContext
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio
GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "models.md"


@pytest.fixture
def agent_dir(tmp_path):
    (tmp_path / "agent").mkdir()
    return tmp_path / "agent"


def listing(agent_dir, providers, **env):
    (agent_dir / "models.json").write_text(json.dumps({"providers": providers}), encoding="utf-8")
    return {**HERMETIC, "PI_CODING_AGENT_DIR": str(agent_dir), **env}


def fake(server, **more):
    models = [{"id": "fake-1", "contextWindow": 1000}, {"id": "fake-r", "reasoning": True}]
    return {
        "fake": {"baseUrl": server.url, "api": "openai-completions", "apiKey": "fake-key", "models": models, **more}
    }


async def ran(env, model, config=None):
    async with Ohm.open(env=env, config=config or {"subagents": {"store": "memory"}}) as ohm:
        return await ohm.run("oracle", "hi", model=model)


async def test_a_model_of_models_json_answers_with_its_key(agent_dir):
    async with ModelServer(Say("hello")) as server:
        result = await ran(listing(agent_dir, fake(server)), "fake/fake-1")
    envelope = result.ok_value
    assert (envelope.output, envelope.provider, envelope.model) == ("hello", "fake", "fake-1")
    assert server.requests[0].headers["authorization"] == "Bearer fake-key"


async def test_its_key_may_be_a_variable_and_is_asked_for_by_its_place(agent_dir):
    async with ModelServer(Say("hello")) as server:
        env = listing(agent_dir, fake(server, apiKey="$FAKE_KEY"))
        missing = (await ran(env, "fake/fake-1")).err_value
        assert missing.code is ErrorCode.MODEL_KEY_MISSING
        assert "the variable of providers.fake.apiKey in models.json is not in the environment" in missing.message
        assert (await ran({**env, "FAKE_KEY": "from-there"}, "fake/fake-1")).ok_value.output == "hello"
    assert server.requests[0].headers["authorization"] == "Bearer from-there"


async def test_a_key_that_stands_in_models_json_is_never_shown(agent_dir):
    async with ModelServer(Status(400, "your key is fake-key-0123456789")) as server:
        error = (await ran(listing(agent_dir, fake(server, apiKey="fake-key-0123456789")), "fake/fake-1")).err_value
    assert "0123456789" not in str(error)


SECRET = "Q7ZXW5JD9KEXAMPLE"
WRITTEN = {
    "a key of capitals": SECRET,
    "a key that looks like a name": f"SK_{SECRET}",
    "a reference": f"${SECRET}",
    "a reference in braces": f"${{SK_{SECRET}}}",
    "a command": f"!echo {SECRET}",
    "a list": [SECRET],
    "an object": {"key": SECRET},
    "a number": 7770077700,
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", WRITTEN)
async def test_no_part_of_an_api_key_is_told_whatever_it_looks_like(agent_dir, kind):
    async with ModelServer(Status(401, "wrong key")) as server:
        env = listing(agent_dir, fake(server, apiKey=WRITTEN[kind]))
        async with Ohm.open(env=env, config={"subagents": {"store": "memory"}}) as ohm:
            result = await ohm.run("oracle", "hi", model="fake/fake-1")
            told = f"{result} {[str(one) for one in ohm.diagnostics]}"
    assert isinstance(result, Err)
    assert not re.search("Q7ZX|77700|EXAMPLE", told)
    if kind in {"a list", "an object", "a number"}:
        assert "'providers.fake.apiKey' has to be a text that is not blank" in told


@pytest.mark.parametrize(
    "text",
    [
        {"fake": SECRET},
        {"fake": [{"apiKey": SECRET}]},
        {"fake": {"models": {"apiKey": SECRET}}},
        {"fake": {"models": [[{"apiKey": SECRET}]]}},
        {"fake": {"baseUrl": {"apiKey": SECRET}}},
        [{"fake": {"apiKey": SECRET}}],
    ],
)
async def test_no_key_is_told_with_what_is_wrong_around_it(agent_dir, text):
    async with Ohm.open(env=listing(agent_dir, text), config={"subagents": {"store": "memory"}}) as ohm:
        told = [str(one) for one in ohm.diagnostics]
    assert any("models.json" in one for one in told)
    assert SECRET[:4] not in str(told)


async def test_a_key_of_capitals_and_digits_is_a_key(agent_dir):
    async with ModelServer(Say("hello")) as server:
        assert (await ran(listing(agent_dir, fake(server, apiKey=SECRET)), "fake/fake-1")).ok_value.output == "hello"
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


async def test_a_model_that_reasons_is_told_how_much(agent_dir):
    async with ModelServer(Say("a"), Say("b")) as server:
        env = listing(agent_dir, fake(server))
        assert (await ran(env, "fake/fake-r:high")).ok_value.diagnostics is None
        assert "has no effect" in (await ran(env, "fake/fake-1:high")).ok_value.diagnostics[0]
    assert [asked.body.get("reasoning_effort") for asked in server.requests] == ["high", None]


async def test_a_model_that_models_json_does_not_have_is_refused_with_those_that_it_has(agent_dir):
    async with ModelServer() as server:
        error = (await ran(listing(agent_dir, fake(server)), "fake/fake-2")).err_value
    assert error.code == ErrorCode.MODEL_UNKNOWN
    assert "fake-1, fake-r" in error.advice
    assert "models.json" in error.advice


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"api": "anthropic-messages"}, 'speaks "anthropic-messages"'),
        ({"apiKey": "!pass show key"}, "has its key from a command"),
        ({"baseUrl": None}, "has no baseUrl"),
    ],
)
async def test_a_provider_that_only_pi_can_ask_is_refused_with_the_reason(agent_dir, more, why):
    async with ModelServer() as server:
        error = (await ran(listing(agent_dir, fake(server, **more)), "fake/fake-1")).err_value
    assert error.code == ErrorCode.MODEL_UNKNOWN
    assert why in error.message


async def test_of_two_with_one_name_that_of_ohm_json_is_asked(agent_dir):
    async with ModelServer(Say("ours")) as server:
        env = listing(agent_dir, {"fake": {"baseUrl": "http://127.0.0.1:9/v1", "models": [{"id": "fake-1"}]}})
        config = {"providers": {"Fake": {"baseUrl": server.url}}, "subagents": {"store": "memory"}}
        assert (await ran(env, "fake/anything", config)).ok_value.output == "ours"


async def test_what_is_wrong_with_models_json_is_told(agent_dir):
    env = listing(agent_dir, {"fake": {"baseUrl": 5}})
    async with Ohm.open(env=env, config={}) as ohm:
        (told,) = ohm.diagnostics
    assert "'providers.fake.baseUrl' is 5" in str(told)


KEYS = {"OPENAI_API_KEY": "sk-openai-0123", "ANTHROPIC_API_KEY": "sk-ant-0123"}


@pytest.mark.parametrize("model", ["openai/gpt-99-nope", "openai/claude-sonnet-4-5"])
async def test_a_model_that_a_provider_of_ours_has_not_is_refused_before_it_is_asked(agent_dir, model):
    error = (await ran({**listing(agent_dir, {}), **KEYS}, model)).err_value
    assert error.code == ErrorCode.MODEL_UNKNOWN
    assert model.partition("/")[2] in error.message
    assert "models.json" in error.advice


async def test_a_misspelt_thinking_level_is_called_that(agent_dir):
    error = (await ran({**listing(agent_dir, {}), **KEYS}, "openai/gpt-5:ultra")).err_value
    assert error.message == '"ultra" in "openai/gpt-5:ultra" is no thinking level.'
    config = {"providers": {"acme": {"baseUrl": "http://127.0.0.1:9", "models": ["fake-1"]}}}
    error = (await ran(HERMETIC, "acme/fake-1:ultra", config)).err_value
    assert error.message == '"ultra" in "acme/fake-1:ultra" is no thinking level.'
    assert "off, minimal, low, medium, high, xhigh" in error.advice


def test_models_json_may_name_a_newer_model_of_a_provider_of_ours():
    listed = CompatibleProvider(name="openai", base_url="", models=(CompatibleModel(id="gpt-99"),))
    spec = next(one for one in builtin_model_specs(KEYS, [listed]) if one.provider == "openai")
    assert isinstance(spec.open(ModelPattern(provider="openai", model="gpt-99")), Ok)
    assert isinstance(spec.open(ModelPattern(provider="openai", model="gpt-98")), Err)
    assert isinstance(spec.open(ModelPattern(provider="openai", model="ft:gpt-4o:me")), Ok)


async def test_models_json_may_give_a_provider_of_ours_another_address(agent_dir):
    async with ModelServer(Say("there")) as server:
        env = {**listing(agent_dir, {"ollama": {"baseUrl": server.url}})}
        assert (await ran(env, "ollama/any")).ok_value.output == "there"


async def test_an_address_that_a_provider_of_ours_does_not_take_is_refused(agent_dir):
    env = {**listing(agent_dir, {"deepseek": {"baseUrl": "http://127.0.0.1:9"}}), "DEEPSEEK_API_KEY": "sk-deep-0123"}
    error = (await ran(env, "deepseek/deepseek-chat")).err_value
    assert error.code == ErrorCode.MODEL_UNKNOWN
    assert "takes no baseUrl" in error.message


async def test_the_example_of_the_guide_thinks_as_it_says():
    (text,) = re.findall(r'```jsonc\n(\{\n  "subagents": \{\n    "finder".*?)```', GUIDE.read_text("utf-8"), re.DOTALL)
    example = parse_jsonc(text).ok_value.value
    async with ModelServer(Say("thought")) as server:
        example["providers"]["acme"]["baseUrl"] = server.url
        async with Ohm.open(env={**HERMETIC, "ACME_KEY": "k" * 20}, config=example) as ohm:
            envelope = (await ohm.run("oracle", "hi")).ok_value
    assert (envelope.model, envelope.diagnostics) == ("large", None)
    assert server.requests[0].body["reasoning_effort"] == "high"


async def test_a_key_of_a_letter_is_not_cut_out_of_words():
    config = {"providers": {"acme": {"baseUrl": "", "apiKeyEnv": "ACME_KEY"}}}
    async with ModelServer(Status(400, "fake failure")) as server:
        config["providers"]["acme"]["baseUrl"] = server.url
        error = (await ran({**HERMETIC, "ACME_KEY": "k"}, "acme/m", config)).err_value
    assert "fake failure" in error.message


def test_a_service_of_ohm_json_takes_the_place_of_the_provider_of_its_name():
    ours = CompatibleProvider(name="openai", base_url="http://127.0.0.1:9/v1")
    offered = [*ohm_models(BackendContext(providers=(ours,), env=KEYS))]
    (spec,) = (one for one in offered if one.provider == "openai")
    assert spec is offered[0]
    assert {one.provider for one in offered} > {"anthropic", "google"}
