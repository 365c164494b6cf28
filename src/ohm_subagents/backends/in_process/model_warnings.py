"""What a model will not honour of its pattern, said instead of dropped. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from genai_prices.data_snapshot import get_snapshot

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.model_pattern import THINKING_LEVELS
from ohm_subagents.plugin import without_thinking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_ai.models import Model

    from ohm_subagents.contract.model_pattern import ModelPattern, Thinking

_LIKE_A_LEVEL: Final = 0.75
"""`hgih` is; `mini`, a tag that Ollama has, is not."""


def pattern_diagnostics(pattern: ModelPattern) -> Iterator[Diagnostic]:
    """A thinking level that is misspelt, and so became part of the model's name."""
    _, colon, suffix = pattern.model.rpartition(":")
    if colon and get_close_matches(suffix.strip().lower(), THINKING_LEVELS, n=1, cutoff=_LIKE_A_LEVEL):
        yield Diagnostic(
            subject=str(pattern),
            message=f'":{suffix}" of model "{pattern}" is no thinking level, so it was taken for a part of the name; '
            f"the levels are {', '.join(THINKING_LEVELS)}.",
        )


def model_diagnostics(model: Model, pattern: ModelPattern) -> Iterator[Diagnostic]:
    """A thinking level without effect, and a name that the price list of its provider does not have."""
    if pattern.thinking is not None and (ignored := _ignored(model, pattern.thinking)) is not None:
        yield Diagnostic(subject=str(pattern), message=f'Model "{pattern.provider}/{pattern.model}" {ignored}.')
    if not is_listed(model):
        yield Diagnostic(
            subject=str(pattern),
            message=f'Model "{pattern.provider}/{pattern.model}" is in no price list known here: '
            "its name may be misspelt, and its cost is not counted.",
        )


def _ignored(model: Model, level: Thinking) -> str | None:
    """How the model departs from `level`, or None when it honours it. Upstream drops or rounds it silently."""
    profile: Mapping[str, object] = {**model.profile}
    if level == "off":
        return "cannot stop thinking; it thinks as little as it can" if profile.get("thinking_always_enabled") else None
    if not profile.get("supports_thinking"):
        return without_thinking(level)
    efforts = profile.get("openai_reasoning_efforts")
    if isinstance(efforts, frozenset) and level not in efforts:
        return f'has no thinking level "{level}"; the nearest one is used'
    return None


def is_listed(model: Model) -> bool:
    """Whether the offline price list has the model; True for a provider that it does not cover at all."""
    prices = get_snapshot()
    try:
        provider = prices.find_provider(None, model.system, None)
    except LookupError:
        return True
    return provider.find_model(model.model_name.lower(), all_providers=prices.providers) is not None
