"""The OpenAI-compatible services of ohm.json, and what every backend says of a model of theirs in the same words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents._backends.suggestion import did_you_mean
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents.contract.model_pattern import ModelPattern, Thinking


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleModel:
    """A model of a custom provider. `context_window` is in tokens."""

    id: str
    supports_thinking: bool = False
    context_window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleProvider:
    """An OpenAI-compatible service (`providers.<name>` of ohm.json).

    `api_key_env` names the variable that holds its key; None means it takes none. Empty `models` allows any name.
    """

    name: str
    base_url: str
    api_key_env: str | None = None
    models: tuple[CompatibleModel, ...] = ()


def unknown_model(provider: CompatibleProvider, pattern: ModelPattern) -> OhmError:
    """A model that is not among those that are listed."""
    names = sorted(model.id for model in provider.models)
    hint = did_you_mean(pattern.model, names, provider=pattern.provider)
    return OhmError(
        code=ErrorCode.MODEL_UNKNOWN,
        message=f'Unknown model "{pattern.model}" of provider "{pattern.provider}".',
        advice=f"{hint}Available models: {', '.join(names)}. They are listed under "
        f"providers.{provider.name}.models in ohm.json.",
    )


def missing_key(pattern: ModelPattern, keys: Sequence[str]) -> OhmError:
    """None of the variables `keys` is set."""
    return OhmError(
        code=ErrorCode.MODEL_KEY_MISSING,
        message=f'No key for provider "{pattern.provider}" of model "{pattern}": '
        f"{' or '.join(keys)} is not in the environment.",
        advice=f"Set {keys[0]}, or choose a model of another provider.",
    )


def without_thinking(level: Thinking) -> str:
    """What is said of a model that does not think; continues `Model "<provider>/<model>" …`."""
    return f'takes no thinking setting, so "{level}" has no effect'
