"""models.json of the agent directory, as far as this process needs it."""

import json

import pytest

from ohm_subagents._config.models_json import load_models_json
from ohm_subagents.contract.services import CompatibleModel


@pytest.fixture
def load(tmp_path):
    def load(content, **env):
        text = content if isinstance(content, str) else json.dumps({"providers": content})
        (tmp_path / "models.json").write_text(text, encoding="utf-8")
        return load_models_json(tmp_path, env)

    return load


def test_without_a_file_there_are_none(tmp_path):
    assert load_models_json(tmp_path, {}) == ((), ())


def test_a_provider_has_an_address_a_key_and_models(load):
    models = [
        {"id": "one", "contextWindow": 1000, "maxTokens": 9, "cost": {"input": 3}},
        {"id": "two", "reasoning": True},
    ]
    entry = {"baseUrl": "http://x/v1", "api": "openai-completions", "apiKey": "literal", "models": models}
    (provider,), wrong = load({"Fake": entry | {"headers": {"x": "y"}}})
    assert wrong == ()
    assert (provider.name, provider.base_url, provider.api_key, provider.api_key_env) == (
        "fake",
        "http://x/v1",
        "literal",
        None,
    )
    assert provider.models == (
        CompatibleModel(id="one", supports_thinking=False, context_window=1000),
        CompatibleModel(id="two", supports_thinking=True, context_window=None),
    )


@pytest.mark.parametrize(
    ("written", "env", "key_env", "key"),
    [
        ("$ACME", {}, "ACME", ""),
        ("${ACME}", {}, "ACME", ""),
        ("ACME_KEY", {}, "ACME_KEY", ""),
        ("acme_key", {"acme_key": "v"}, "acme_key", ""),
        ("sk-abc", {}, None, "sk-abc"),
        ("AKIAQ7ZXW5JD9K", {}, None, "AKIAQ7ZXW5JD9K"),
        ("ACME", {"ACME": "v"}, "ACME", ""),
        ("!pass show x", {}, None, ""),
    ],
)
def test_a_key_is_a_variable_a_command_or_itself(load, written, env, key_env, key):
    (provider,), wrong = load({"acme": {"baseUrl": "http://x", "apiKey": written}}, **env)
    assert (provider.api_key_env, provider.api_key) == (key_env, key)
    assert ("only pi runs" in provider.obstacle) == written.startswith("!")
    assert wrong == ()
    assert key == "" or key not in repr((provider, wrong))


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"providers": 5}', '{"providers": {"a": 5}}', '{"providers": {"a": {"baseUrl": 5}}}']
)
def test_what_is_wrong_is_told_and_counts_as_not_given(load, text):
    providers, wrong = load(text)
    assert len(wrong) == 1
    assert all(one.base_url == "" for one in providers)


def test_comments_are_read_as_pi_reads_them(load):
    (provider,), wrong = load(
        '{"providers": {"a": {"baseUrl": "http://x", /* why */ "models": [{"id": "m"},]}}} // end'
    )
    assert (provider.models[0].id, wrong) == ("m", ())
