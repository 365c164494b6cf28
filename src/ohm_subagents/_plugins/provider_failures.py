"""Errors about models and their providers, in the same words for every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._plugins.suggestion import did_you_mean
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.model_pattern import THINKING_LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents._plugins.context import CompatibleProvider
    from ohm_subagents.contract.model_pattern import ModelPattern, Thinking


def unknown_model(provider: CompatibleProvider, pattern: ModelPattern) -> OhmError:
    """A model that is not among those that are listed."""
    names = sorted(model.id for model in provider.models)
    name, _, level = pattern.model.rpartition(":")
    if name in names:
        return no_level(pattern, name, level)
    hint = did_you_mean(pattern.model, names, provider=pattern.provider)
    return OhmError(
        code=ErrorCode.MODEL_UNKNOWN,
        message=f'Unknown model "{pattern.model}" of provider "{pattern.provider}".',
        advice=f"{hint}Available models: {', '.join(names)}. They are listed under "
        f"providers.{provider.name}.models in {provider.source}.",
    )


def no_level(pattern: ModelPattern, name: str, level: str) -> OhmError:
    """A model that there is, with something behind its name that is no thinking level."""
    return OhmError(
        code=ErrorCode.MODEL_UNKNOWN,
        message=f'"{level}" in "{pattern}" is no thinking level.',
        advice=f"The levels are {', '.join(THINKING_LEVELS)}: write {pattern.provider}/{name}:<level>, or no level.",
    )


def unlisted_model(pattern: ModelPattern) -> OhmError:
    """A model that a provider we know by name has not, as far as we know."""
    return OhmError(
        code=ErrorCode.MODEL_UNKNOWN,
        message=f'Provider "{pattern.provider}" has no model "{pattern.model}" that is known here.',
        advice="Check its name. If it is newer than this release, list it in models.json of the agent directory, "
        f"under providers.{pattern.provider}.models.",
    )


def unreachable(provider: CompatibleProvider, pattern: ModelPattern) -> OhmError:
    """A model of a provider that cannot be asked from this process."""
    return OhmError(
        code=ErrorCode.MODEL_UNKNOWN,
        message=f'Model "{pattern}" cannot be asked: {provider.obstacle}.',
        advice="Use interactive-shell for it, or sdkFallbackToCli, or a provider of ohm.json.",
    )


def unbounded(pattern: ModelPattern) -> OhmError:
    """A model of a provider whose answers cannot be held to sizes."""
    return OhmError(
        code=ErrorCode.PROVIDER_NOT_INSTALLED,
        message=f'Model "{pattern}" is not asked: the installed pydantic-ai keeps the HTTP client of provider '
        f'"{pattern.provider}" where it cannot be given limits.',
        advice="Install a version of pydantic-ai that this release was made for.",
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
