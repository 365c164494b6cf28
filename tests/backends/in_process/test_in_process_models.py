"""The choice of a model, and the words for none."""

import subprocess
import sys
from dataclasses import replace

import pytest
from model_server import ModelServer, Say
from pydantic import ValidationError
from subagent_runs import PROFILE, EventLog, acme, answer, error, offering, opened, request

from ohm_subagents._plugins.installation import install_command
from ohm_subagents.backends.in_process.models import ModelBook
from ohm_subagents.backends.in_process.options import InProcessOptions
from ohm_subagents.backends.in_process.providers import builtin_model_specs, custom_model_specs
from ohm_subagents.backends.in_process.spec import interactive_sdk_spec
from ohm_subagents.contract import AgentOptions, Err, ErrorCode, ModelPattern, Ok
from ohm_subagents.contract.services import CompatibleModel, CompatibleProvider

pytestmark = pytest.mark.anyio

NAMED = ModelPattern(provider="acme", model="m1")
FALLBACK = replace(PROFILE, fallback_model=ModelPattern(provider="local", model="search"))


def book(env: dict[str, str]) -> ModelBook:
    return ModelBook(builtin_model_specs(env), env)


def test_a_named_model_wins_over_every_key() -> None:
    assert book({"OPENAI_API_KEY": "k"}).choose(NAMED, FALLBACK) == Ok(NAMED)


def test_a_key_chooses_the_default_of_its_provider() -> None:
    chosen = book({"OPENAI_API_KEY": "k"}).choose(None, FALLBACK)
    assert isinstance(chosen, Ok)
    assert chosen.ok_value.provider == "openai"


def test_the_first_provider_of_the_table_with_a_key_wins() -> None:
    chosen = book({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}).choose(None, PROFILE)
    assert isinstance(chosen, Ok)
    assert chosen.ok_value.provider == "anthropic"


@pytest.fixture
def without_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide its SDK as an import that was refused does."""
    monkeypatch.setitem(sys.modules, "anthropic", None)


@pytest.mark.usefixtures("without_anthropic")
def test_a_provider_whose_sdk_is_not_installed_is_left_out_for_the_next_one_or_the_fallback() -> None:
    keys = {"ANTHROPIC_API_KEY": "k"}
    chosen = book(keys | {"OPENAI_API_KEY": "k"}).choose(None, PROFILE)
    assert isinstance(chosen, Ok)
    assert chosen.ok_value.provider == "openai"
    assert book(keys).choose(None, FALLBACK) == Ok(ModelPattern(provider="local", model="search"))


@pytest.mark.usefixtures("without_anthropic")
def test_it_is_chosen_all_the_same_where_there_is_no_other_so_that_its_command_is_told() -> None:
    models = book({"ANTHROPIC_API_KEY": "k"})
    chosen = models.choose(None, PROFILE)
    assert isinstance(chosen, Ok)
    assert chosen.ok_value.provider == "anthropic"
    spec = models.spec_of(chosen.ok_value)
    assert spec is not None
    assert models.lacks(spec) == install_command("anthropic")


def test_any_key_of_a_provider_counts_and_a_blank_one_does_not() -> None:
    chosen = book({"OPENAI_API_KEY": "  ", "GEMINI_API_KEY": "k"}).choose(None, PROFILE)
    assert isinstance(chosen, Ok)
    assert chosen.ok_value.provider == "google"


def test_without_a_key_the_fallback_of_the_profile_is_used() -> None:
    assert book({}).choose(None, FALLBACK) == Ok(ModelPattern(provider="local", model="search"))


def test_without_any_model_one_sentence_names_the_settings_and_the_keys() -> None:
    chosen = book({}).choose(None, PROFILE)
    assert isinstance(chosen, Err)
    assert chosen.err_value.code == ErrorCode.MODEL_MISSING
    for name in ("OHM_MODEL", "subagents.model", "subagents.finder.model", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        assert name in chosen.err_value.message
    assert chosen.err_value.message.count(". ") == 0


def test_an_agent_is_not_told_of_settings_that_are_not_about_it() -> None:
    chosen = book({}).choose(None, replace(PROFILE, agent=AgentOptions()))
    assert isinstance(chosen, Err)
    assert "subagents.model in ohm.json" in chosen.err_value.message
    assert "subagents.finder" not in chosen.err_value.message


async def test_a_run_without_a_model_says_so() -> None:
    async with opened(env={}) as backend:
        assert error(await backend.run(request(model=None), EventLog())).code == ErrorCode.MODEL_MISSING


async def test_an_unknown_provider_lists_the_ones_there_are() -> None:
    async with book({}) as models:
        unknown = await models.open(ModelPattern(provider="opnai", model="gpt-5.5"))
    assert isinstance(unknown, Err)
    assert unknown.err_value.code == ErrorCode.MODEL_UNKNOWN
    assert str(unknown.err_value).startswith(
        'Unknown model provider "opnai" in "opnai/gpt-5.5". Did you mean "openai/gpt-5.5"? '
        "Available providers: anthropic, deepseek, google, "
    )
    assert str(unknown.err_value).endswith(
        "Add your own under providers in ohm.json; a run on another machine does not read that file."
    )


@pytest.mark.parametrize("provider", ["nope", "claude", "gemini", "azure", "grok"])
async def test_a_provider_that_is_like_no_other_is_not_guessed_at(provider: str) -> None:
    async with book({}) as models:
        unknown = await models.open(ModelPattern(provider=provider, model="gpt-4o"))
    assert isinstance(unknown, Err)
    assert "Did you mean" not in str(unknown.err_value)


async def test_the_provider_of_the_local_plugin_says_how_to_install_it() -> None:
    async with book({}) as models:
        unknown = await models.open(ModelPattern(provider="gguf", model="/models/m.gguf"))
    assert isinstance(unknown, Err)
    assert unknown.err_value.code == ErrorCode.MODEL_UNKNOWN
    assert install_command("local") in unknown.err_value.advice


async def test_a_missing_key_names_the_variable() -> None:
    async with book({}) as models:
        missing = await models.open(ModelPattern(provider="google", model="gemini-3.8-flash"))
    assert isinstance(missing, Err)
    assert missing.err_value.code == ErrorCode.MODEL_KEY_MISSING
    assert "GOOGLE_API_KEY or GEMINI_API_KEY" in missing.err_value.message


@pytest.mark.parametrize("key", ["sk-ключ", "sk-one\nsk-two", "sk-\u2011dash", "sk-\x07"])
async def test_a_key_that_no_header_can_carry_names_the_variable_and_not_the_key(key: str) -> None:
    async with book({"GEMINI_API_KEY": key}) as models:
        refused = await models.open(ModelPattern(provider="google", model="gemini-3.8-flash"))
    assert isinstance(refused, Err)
    assert refused.err_value.code == ErrorCode.MODEL_KEY_MISSING
    assert refused.err_value.message.startswith("The key in GEMINI_API_KEY cannot be used")
    assert "sk-" not in str(refused.err_value)


async def test_an_unknown_model_of_a_custom_provider_lists_what_it_has() -> None:
    provider = CompatibleProvider(
        name="Acme", base_url="http://127.0.0.1:1/v1", models=(CompatibleModel(id="quick-1"), CompatibleModel(id="big"))
    )
    async with ModelBook(custom_model_specs([provider], {}), {}) as models:
        unknown = await models.open(ModelPattern(provider="acme", model="quik-1"))
    assert isinstance(unknown, Err)
    assert unknown.err_value.code == ErrorCode.MODEL_UNKNOWN
    assert str(unknown.err_value) == (
        'Unknown model "quik-1" of provider "acme". Did you mean "acme/quick-1"? Available models: big, quick-1. '
        "They are listed under providers.Acme.models in ohm.json."
    )


async def test_an_sdk_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.providers.anthropic", None)
    env = {"ANTHROPIC_API_KEY": "secret-value"}
    async with book(env) as models:
        missing = await models.open(ModelPattern(provider="anthropic", model="claude-sonnet-5-5"))
    assert isinstance(missing, Err)
    assert missing.err_value.code == ErrorCode.PROVIDER_NOT_INSTALLED
    assert install_command("anthropic") in missing.err_value.advice
    assert "secret-value" not in str(missing.err_value)


async def test_ollama_needs_no_key_and_runs_at_the_address_given() -> None:
    async with ModelServer(Say("ok")) as server:
        env = {"OLLAMA_BASE_URL": server.url}
        spec = interactive_sdk_spec(offering(*builtin_model_specs(env), env=env))
        async with spec.open(InProcessOptions()) as backend:
            pattern = ModelPattern(provider="ollama", model="qwen3:8b")
            assert answer(await backend.run(request(model=pattern), EventLog())) == "ok"
    assert server.requests[0].body["model"] == "qwen3:8b"


async def test_the_key_of_a_custom_provider_is_sent_to_it_and_no_other() -> None:
    env = {"ACME_KEY": "k-acme", "OPENAI_API_KEY": "k-openai"}
    async with ModelServer(lambda _: Say("ok")) as server:
        keyless = CompatibleProvider(name="free", base_url=server.url)
        async with opened(acme(server), keyless, env=env) as backend:
            await backend.run(request(), EventLog())
            await backend.run(request(model=ModelPattern(provider="free", model="m")), EventLog())
    assert [asked.headers["authorization"] for asked in server.requests] == ["Bearer k-acme", "Bearer no-key"]


def test_the_options_are_those_of_the_file() -> None:
    options = InProcessOptions.model_validate({"requestLimit": 5, "readTimeoutMs": 1000})
    assert (options.request_limit, options.read_timeout_ms) == (5, 1000)
    with pytest.raises(ValidationError):
        InProcessOptions.model_validate({"requestlimit": 5})


def test_the_backend_lacks_nothing_here() -> None:
    assert interactive_sdk_spec(offering()).lacks(InProcessOptions(), {}) is None


@pytest.mark.slow
def test_importing_the_backend_loads_no_sdk() -> None:
    code = (
        "import sys, ohm_subagents.backends.in_process.spec, ohm_subagents.backends.in_process.models, "
        "ohm_subagents.backends.in_process.providers as p; p.builtin_model_specs({});"
        "print([name for name in ('pydantic_ai', 'openai', 'anthropic', 'httpx2') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"
