"""`<provider>/<model>[:<thinking>]`."""

import pytest

from ohm_subagents.contract import Err, ErrorCode, ModelPattern, Ok, parse_model_pattern


@pytest.mark.parametrize(
    ("text", "provider", "model", "thinking"),
    [
        ("openai/gpt-4o", "openai", "gpt-4o", None),
        ("openai/gpt-5:high", "openai", "gpt-5", "high"),
        (" OpenAI / gpt-5 : HIGH ", "openai", "gpt-5", "high"),
        ("openrouter/deepseek/deepseek-r1:free", "openrouter", "deepseek/deepseek-r1:free", None),
        ("ollama/qwen3:8b", "ollama", "qwen3:8b", None),
        ("gguf//models/a.gguf", "gguf", "/models/a.gguf", None),
        ("acme/m:off", "acme", "m", "off"),
        ("acme/:high", "acme", ":high", None),
    ],
)
def test_a_pattern_is_split_at_the_first_slash_and_the_last_level(text, provider, model, thinking):
    assert parse_model_pattern(text) == Ok(ModelPattern(provider=provider, model=model, thinking=thinking))


@pytest.mark.parametrize("text", ["", "gpt-4o", "/gpt-4o", "openai/", " / "])
def test_a_pattern_without_two_sides_is_refused_with_the_value_and_the_form(text):
    refused = parse_model_pattern(text)

    assert isinstance(refused, Err)
    assert refused.err_value.code == ErrorCode.INVALID_MODEL
    assert repr(text) in refused.err_value.message
    assert "<provider>/<model>:<thinking>" in refused.err_value.advice


@pytest.mark.parametrize("text", ["openai/gpt-5:high", "ollama/qwen3:8b"])
def test_a_pattern_prints_as_it_is_written(text):
    assert str(parse_model_pattern(text).ok_value) == text
