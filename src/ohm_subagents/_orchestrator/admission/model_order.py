"""Choose the model of a run: the order of the places that may name one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.model_pattern import ModelPattern, parse_model_pattern
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._config.subagents import SubagentEntry
    from ohm_subagents._config.values import UnclearModel
    from ohm_subagents.contract.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model, and the place that names it."""

    pattern: ModelPattern
    """The model."""
    by: Literal["call", "subagent", "profile", "common"]
    """The call, `subagents.<id>.model`, the profile's file, or `subagents.model`."""


def named_model(
    typed: str | None, profile: Profile, own: SubagentEntry, common: ModelPattern | UnclearModel | None
) -> Result[NamedModel | None, OhmError]:
    """Return the first model named by the call, `own`, the profile or `common`; None leaves it to the backend.

    Returns `invalid_model` for a bad `typed`, and as `configured_model`.
    """
    if typed is not None:
        match parse_model_pattern(typed):
            case Err(error):
                return Err(error)
            case Ok(pattern):
                return Ok(NamedModel(pattern=pattern, by="call"))
    return configured_model(profile, own, common)


def configured_model(
    profile: Profile, own: SubagentEntry, common: ModelPattern | UnclearModel | None
) -> Result[NamedModel | None, OhmError]:
    """Return the model of a call that names none.

    Returns `invalid_model` for one that is written and is none: no other one runs instead.
    """
    if own.model is not None:
        return _clear(own.model, "subagent")
    if profile.model is not None:
        return Ok(NamedModel(pattern=profile.model, by="profile"))
    if profile.agent is not None and (profile.agent.model or profile.agent.provider):
        return Ok(None)  # it names one that only its agent can complete
    if common is not None:
        return _clear(common, "common")
    return Ok(None)


def _clear(
    model: ModelPattern | UnclearModel, by: Literal["subagent", "common"]
) -> Result[NamedModel | None, OhmError]:
    if isinstance(model, ModelPattern):
        return Ok(NamedModel(pattern=model, by=by))
    return Err(OhmError(code=ErrorCode.INVALID_MODEL, message=model.why))
