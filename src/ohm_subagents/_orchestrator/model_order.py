"""Which model is asked for, and by whom: the one place that knows the order (house 9.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ohm_subagents.contract.model_pattern import ModelPattern, parse_model_pattern
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._config.schema import ProfileSettings
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model and who names it: the call, `subagents.<id>.model`, the profile's file, or `subagents.model`."""

    pattern: ModelPattern
    by: Literal["call", "subagent", "profile", "common"]


def named_model(
    typed: str | None, profile: Profile, own: ProfileSettings, common: ModelPattern | None
) -> Result[NamedModel | None, OhmError]:
    """The first that names one: the call, `own`, the profile, `common`; None leaves the choice to the backend.

    Returns `invalid_model` for a bad `typed`.
    """
    if typed is not None:
        match parse_model_pattern(typed):
            case Err(error):
                return Err(error)
            case Ok(pattern):
                return Ok(NamedModel(pattern=pattern, by="call"))
    return Ok(configured_model(profile, own, common))


def configured_model(profile: Profile, own: ProfileSettings, common: ModelPattern | None) -> NamedModel | None:
    """The model of a call that names none."""
    if own.model is not None:
        return NamedModel(pattern=own.model, by="subagent")
    if profile.model is not None:
        return NamedModel(pattern=profile.model, by="profile")
    if profile.agent is not None and (profile.agent.model or profile.agent.provider):
        return None  # it names one that only its agent can complete
    if common is not None:
        return NamedModel(pattern=common, by="common")
    return None
