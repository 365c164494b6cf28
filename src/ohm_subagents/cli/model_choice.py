"""Which model a subagent would run on, and what decided it (house 9.6), for `ohm doctor` and `ohm subagent`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from ohm_subagents._backends.in_process.models import ModelBook
    from ohm_subagents._config.load import LoadedConfig
    from ohm_subagents.contract import ModelPattern, Profile


def configured_model(profile: Profile, loaded: LoadedConfig) -> tuple[ModelPattern, str] | None:
    """The model that the configuration or the profile names, and where."""
    own, common = loaded.config.subagents.entry(profile.id).model, loaded.config.subagents.model
    if own is not None:
        return own, _origin(f"subagents.profiles.{profile.id}.model", loaded)
    if profile.model is not None:
        return profile.model, f"the profile {profile.source or profile.id}"
    if common is not None:
        return common, _origin("subagents.model", loaded)
    return None


def chosen_model(profile: Profile, loaded: LoadedConfig, book: ModelBook) -> tuple[ModelPattern, str] | None:
    """The model that would run and why; None when there is none."""
    configured = configured_model(profile, loaded)
    if configured is not None:
        return configured[0], f"set by {configured[1]}"
    match book.choose(None, profile):
        case Err():
            return None
        case Ok(pattern) if pattern == profile.fallback_model:
            return pattern, "because nothing names a model and no key is set"
        case Ok(pattern):
            return pattern, f"because a key of {pattern.provider} is set"


def _origin(key: str, loaded: LoadedConfig) -> str:
    shown = key.replace(".profiles.", ".")
    return f"{shown} ({loaded.origin(key)})"
