"""Names of one model, and what is another: the rule as data."""

import pytest

from ohm_subagents._orchestrator.run.served_model import is_same_model

SAME = [
    ("gpt-5", "gpt-5"),
    ("gpt-5", "gpt-5-2025-08-07"),
    ("gpt-4o", "gpt-4o-2024-08-06"),
    ("gpt-4o-2024-08-06", "gpt-4o"),
    ("gpt-4", "gpt-4-0613"),
    ("claude-sonnet-4", "claude-sonnet-4-20250514"),
    ("claude-sonnet-4-0", "claude-sonnet-4-20250514"),
    ("claude-sonnet-4", "claude-sonnet-4@20250514"),
    ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
    ("mistral-large-latest", "mistral-large-2411"),
    ("mistral-small", "mistral-small-latest"),
    ("gemini-2.5-pro", "models/gemini-2.5-pro"),
    ("gemini-2.0-flash", "gemini-2.0-flash-001"),
    ("gemini-flash-latest", "gemini-2.5-flash-preview-09-2025"),
    ("anthropic/claude-sonnet-4.5", "anthropic/claude-4.5-sonnet-20250929"),
    ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1"),
    ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4-20250514"),
    ("anthropic.claude-3-haiku-20240307-v1:0", "us.anthropic.claude-3-haiku-20240307-v1:0"),
    ("qwen3", "qwen3:latest"),
    ("qwen3:8b", "qwen3:8b"),
    ("QWEN3:8B", "qwen3:8b"),
    ("sonnet", "claude-sonnet-4-5-20250929"),
    ("sonnet[1m]", "claude-sonnet-4-5-20250929"),
    ("opus", "claude-opus-4-1-20250805"),
    ("openrouter/auto", "anything-at-all"),
    ("default", "gpt-5-codex"),
]
OTHERS = [
    ("gpt-5", "gpt-5-mini"),
    ("gpt-5", "gpt-5-mini-2025-08-07"),
    ("gpt-5-mini", "gpt-5"),
    ("gpt-5.4", "gpt-4.5"),
    ("gpt-4o-2024-08-06", "gpt-4o-2024-05-13"),
    ("claude-opus-4", "claude-opus-4-1-20250805"),
    ("claude-sonnet-4", "claude-haiku-4-20250514"),
    ("claude-sonnet-4-5", "claude-sonnet-4-20250514"),
    ("gemini-2.5-pro", "gemini-2.5-flash"),
    ("gemini-2.5-pro", "gemini-1.5-pro-002"),
    ("gemini-flash-latest", "gemini-2.5-flash-lite"),
    ("big", "cheap-model-mini"),
    ("qwen3:8b", "qwen3:4b"),
    ("llama-3.3-70b", "llama-3.1-70b"),
    ("o3", "o3-mini"),
    ("o3", "o4"),
    ("sonnet", "claude-haiku-4-5-20251001"),
    ("deepseek-v3", "deepseek-r1"),
]


@pytest.mark.parametrize(("asked", "served"), SAME)
def test_a_release_an_alias_and_a_path_of_a_router_are_the_same_model(asked, served):
    assert is_same_model(asked, served)


@pytest.mark.parametrize(("asked", "served"), OTHERS)
def test_another_size_family_version_or_release_is_another_model(asked, served):
    assert not is_same_model(asked, served)
