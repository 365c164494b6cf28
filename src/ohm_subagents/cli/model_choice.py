"""The backend and model that a subagent would run on, and what decided it, for `ohm doctor`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.admission.model_order import configured_model
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.plugin import INTERACTIVE_SDK as IN_PROCESS

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.model_order import NamedModel
    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.contract import ModelPattern, Profile
    from ohm_subagents.plugin import ModelChoice


def backend_of(profile: Profile, loaded: LoadedConfig) -> str:
    """The backend of a call that names none."""
    config = loaded.config
    return config.subagents.entry(profile.id).backend or profile.backend or config.subagent_backend


def told_model(profile: Profile, loaded: LoadedConfig, book: ModelChoice) -> str | None:
    """Describe the model that a run would get; None for none. Only `interactive-sdk` leaves the choice to us."""
    backend = backend_of(profile, loaded)
    resolved = resolved_model(profile, loaded, book)
    if resolved is not None:
        return resolved
    return None if backend == IN_PROCESS else f"{backend}, which chooses the model itself"


def resolved_model(profile: Profile, loaded: LoadedConfig, book: ModelChoice) -> str | None:
    """Return the model that a run would get, and why; None if there is none, or it is not known beforehand."""
    is_ours = backend_of(profile, loaded) == IN_PROCESS
    chosen = (chosen_model if is_ours else _named)(profile, loaded, book)
    return None if chosen is None else f"{chosen[0]}, {chosen[1]}"


def chosen_model(profile: Profile, loaded: LoadedConfig, book: ModelChoice) -> tuple[ModelPattern, str] | None:
    """The model that `interactive-sdk` would run and why; None when there is none.

    The switch to pi comes before the last resort.
    """
    named = _named(profile, loaded, book)
    if named is not None:
        return named
    match book.choose(None, replace(profile, fallback_model=None) if loaded.config.sdk_fallback_to_cli else profile):
        case Err():
            return None
        case Ok(pattern) if pattern == profile.fallback_model:
            return pattern, "because nothing names a model and no key is set"
        case Ok(pattern):
            return pattern, f"because a key of {pattern.provider} is set"


def _named(profile: Profile, loaded: LoadedConfig, _book: ModelChoice) -> tuple[ModelPattern, str] | None:
    subagents = loaded.config.subagents
    named = configured_model(profile, subagents.entry(profile.id), subagents.model)
    if isinstance(named, Err) or named.ok_value is None:
        return None
    return named.ok_value.pattern, f"set by {_who(named.ok_value, profile, loaded)}"


def unclear_model(profile: Profile, loaded: LoadedConfig) -> str:
    """Return the fault of the model that is set for a subagent; empty for a valid one, or for none."""
    subagents = loaded.config.subagents
    configured = configured_model(profile, subagents.entry(profile.id), subagents.model)
    return str(configured.err_value) if isinstance(configured, Err) else ""


def _who(named: NamedModel, profile: Profile, loaded: LoadedConfig) -> str:
    match named.by:
        case "call":
            return "the call"
        case "subagent":
            return f"subagents.{profile.id}.model ({loaded.origin(f'subagents.profiles.{profile.id}.model')})"
        case "profile":
            return f"the profile {profile.source or profile.id}"
        case "common":
            return f"subagents.model ({loaded.origin('subagents.model')})"
