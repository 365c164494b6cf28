"""The SDKs of all providers, in one file: a worker imports them once, which takes seconds."""

from collections import defaultdict
from importlib.util import find_spec

import pytest
from pydantic_ai.providers import Provider
from subagent_runs import PROFILE

from ohm_subagents import Ohm
from ohm_subagents._plugins.installation import install_command
from ohm_subagents.backends.in_process import bounded_stream
from ohm_subagents.backends.in_process.model_facts import model_diagnostics
from ohm_subagents.backends.in_process.models import ModelBook
from ohm_subagents.backends.in_process.providers import builtin_model_specs, custom_model_specs
from ohm_subagents.contract import Err, ErrorCode, ModelPattern, OhmError, Ok
from ohm_subagents.contract.services import CompatibleProvider
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

SDKS = {
    "openai": None,
    "openrouter": None,
    "deepseek": None,
    "anthropic": "anthropic",
    "google": "google.genai",
    "groq": "groq",
    "mistral": "mistralai",
    "xai": "xai_sdk",
}
"""The SDK that each provider needs beside that of OpenAI, which is always here."""


def is_installed(module: str | None) -> bool:
    if module is None:
        return True
    package, _, rest = module.partition(".")
    return find_spec(package) is not None and (not rest or find_spec(module) is not None)


async def default_of(provider: str, monkeypatch: pytest.MonkeyPatch) -> list[str] | OhmError:
    """Return the words on the default model of `provider` when its key is in the mapping given, and nowhere else."""
    specs = {spec.provider: spec for spec in builtin_model_specs({})}
    for spec in specs.values():
        for key in spec.keys:
            monkeypatch.delenv(key, raising=False)
    env = {specs[provider].keys[0]: "key"}
    async with ModelBook(builtin_model_specs(env), env) as models:
        chosen = models.choose(None, PROFILE)
        assert isinstance(chosen, Ok)
        assert chosen.ok_value.provider == provider
        model = await models.open(chosen.ok_value)
        if isinstance(model, Err):
            return model.err_value
        return [told.message for told in model_diagnostics(model.ok_value, chosen.ok_value)]


@pytest.mark.sample(4)
@pytest.mark.parametrize("provider", SDKS)
async def test_the_default_of_a_provider_opens_with_the_key_given_and_is_in_the_price_list(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = await default_of(provider, monkeypatch)
    sdk = SDKS[provider]
    if is_installed(sdk):
        assert outcome == []
        return
    assert isinstance(outcome, OhmError)
    assert outcome.code == ErrorCode.PROVIDER_NOT_INSTALLED
    assert outcome.advice == f"Install it: {install_command(provider)}."


SPECS = builtin_model_specs(defaultdict(lambda: "k"))
HERE = [one for one in SPECS if is_installed(SDKS.get(one.provider))]


def model_of(spec):
    return spec.open(ModelPattern(provider=spec.provider, model=(spec.default_model or "any")))


def test_most_providers_can_be_tried_here():
    assert {"anthropic", "openai", "google", "openrouter", "deepseek", "ollama"} <= {one.provider for one in HERE}


@pytest.mark.sample(3)
@pytest.mark.parametrize("spec", HERE, ids=lambda spec: spec.provider)
def test_the_client_of_every_provider_is_bound(spec):
    opened_model = model_of(spec)
    assert isinstance(opened_model, Ok), opened_model
    if spec.provider != "xai":  # gRPC has its own bounds
        client = opened_model.ok_value._provider._own_http_client
        assert bounded_stream._bounded in client.event_hooks["response"]


CUSTOM = custom_model_specs([CompatibleProvider(name="acme", base_url="http://127.0.0.1:9/v1")], {})


@pytest.mark.sample(3)
@pytest.mark.parametrize("spec", [*HERE, *CUSTOM], ids=lambda spec: spec.provider)
def test_a_provider_whose_client_is_not_found_is_refused(monkeypatch, spec):
    elsewhere = property(lambda _: None, lambda _, client: None)  # as if pydantic-ai gave it another name
    monkeypatch.setattr(Provider, "_own_http_client", elsewhere)
    found = model_of(spec)
    if spec.provider == "xai":
        assert isinstance(found, Ok)
    else:
        assert found.err_value.code == ErrorCode.PROVIDER_NOT_INSTALLED
        assert f'HTTP client of provider "{spec.provider}"' in found.err_value.message


async def test_a_model_that_a_provider_has_not_is_refused_before_it_is_asked(tmp_path):
    env = HERMETIC | {"PI_CODING_AGENT_DIR": str(tmp_path), "ANTHROPIC_API_KEY": "sk-ant-0123"}
    async with Ohm.open(env=env, config={"subagents": {"store": "memory"}}) as ohm:
        error = (await ohm.run("oracle", "hi", model="anthropic/claude-nope")).err_value
    assert error.code == ErrorCode.MODEL_UNKNOWN
    assert "claude-nope" in error.message
    assert "models.json" in error.advice
