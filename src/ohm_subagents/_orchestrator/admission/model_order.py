"""Choose the model of a run: the order of the places that may name one, by itself or by a name of the menu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from ohm_subagents._config.values import ModelName
from ohm_subagents._orchestrator.call_context import no_model
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.model_pattern import ModelPattern, parse_model_pattern
from ohm_subagents.contract.model_route import INHERIT, ModelRoute
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ohm_subagents._config.subagents import SubagentEntry, Subagents
    from ohm_subagents._config.values import UnclearModel
    from ohm_subagents.contract.profile import Profile

Namer = Literal["call", "subagent", "profile", "common", "session"]
"""The call, `subagents.<id>.model`, the profile's file, `subagents.model`, or the former task."""
_WHY: Final[Mapping[Namer, str]] = {
    "call": "asked",
    "subagent": "configured",
    "profile": "its profile's",
    "common": "configured",
    "session": "that of the session",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model, and the place that names it."""

    pattern: ModelPattern
    """The model."""
    by: Namer
    """The place."""
    name: str = ""
    """The name of the menu, or `inherit`, by which the place names it; empty for a model itself."""
    fallback: tuple[ModelPattern, ...] = ()
    """The models that are asked in this order when it fails."""

    @property
    def route(self) -> ModelRoute | None:
        """Return the models that may do the work; None where there is no choice but the one that was named."""
        if self.by == "session" and self.fallback:
            return ModelRoute(models=(self.pattern, *self.fallback), why=_WHY[self.by])
        if not self.name:
            return None
        why = "inherited from the parent" if self.name == INHERIT else f"{_WHY[self.by]} as {self.name}"
        return ModelRoute(models=(self.pattern, *self.fallback), why=why)


def named_model(
    typed: str | None,
    profile: Profile,
    own: SubagentEntry,
    subagents: Subagents,
    parent: Callable[[], ModelPattern | None] = no_model,
) -> Result[NamedModel | None, OhmError]:
    """Return the first model named by the call, `own`, the profile or `subagents`; None leaves it to the backend.

    `parent` returns the model of the parent, for `inherit`; where that is not known, the next place counts.
    Returns `invalid_model` for a bad `typed`, and as `configured_model`.
    """
    if typed is None:
        return configured_model(profile, own, subagents, parent)
    menu, name = subagents.menu, typed.strip()
    if name in menu or name == INHERIT:
        named = _of_name(name, "call", menu, parent)
        return configured_model(profile, own, subagents, parent) if named is None else Ok(named)
    match parse_model_pattern(typed):
        case Err(error):
            return Err(_with_names(error, name, menu))
        case Ok(pattern):
            return Ok(NamedModel(pattern=pattern, by="call"))


def configured_model(
    profile: Profile,
    own: SubagentEntry,
    subagents: Subagents,
    parent: Callable[[], ModelPattern | None] = no_model,
) -> Result[NamedModel | None, OhmError]:
    """Return the model of a call that names none.

    Returns `invalid_model` for one that is written and is none: no other one runs instead.
    """
    menu = subagents.menu
    if own.model is not None:
        found = _resolved(own.model, "subagent", menu, parent)
        if found is not None:
            return found
    if profile.model is not None:
        return Ok(NamedModel(pattern=profile.model, by="profile"))
    if profile.model_name or profile.agent is not None:
        name = _name_in(profile, menu)
        if name is None:
            return Ok(None)
        found = _resolved(ModelName(name), "profile", menu, parent) if name else None
        if found is not None:
            return found
    if subagents.model is not None:
        found = _resolved(subagents.model, "common", menu, parent)
        if found is not None:
            return found
    return Ok(None)


def _name_in(profile: Profile, menu: Collection[str]) -> str | None:
    """Return the name that a profile gives in place of a model; empty for none, None for what its agent completes."""
    agent = profile.agent
    if profile.model_name in menu or profile.model_name == INHERIT:
        return profile.model_name
    if agent is None or not (agent.model or agent.provider):
        return ""
    return agent.model if agent.model in menu and not agent.provider else None


def _resolved(
    model: ModelPattern | ModelName | UnclearModel,
    by: Namer,
    menu: Mapping[str, tuple[ModelPattern, ...]],
    parent: Callable[[], ModelPattern | None],
) -> Result[NamedModel | None, OhmError] | None:
    """Return what a place names; None for `inherit` where the model of the parent is not known."""
    match model:
        case ModelPattern():
            return Ok(NamedModel(pattern=model, by=by))
        case ModelName(name):
            named = _of_name(name, by, menu, parent)
            return None if named is None else Ok(named)
        case _:
            return Err(OhmError(code=ErrorCode.INVALID_MODEL, message=model.why))


def _of_name(
    name: str, by: Namer, menu: Mapping[str, tuple[ModelPattern, ...]], parent: Callable[[], ModelPattern | None]
) -> NamedModel | None:
    """Return the models of a name; None for `inherit` where the model of the parent is not known."""
    if name == INHERIT:
        pattern = parent()
        return None if pattern is None else NamedModel(pattern=pattern, by=by, name=INHERIT)
    pattern, *fallback = menu[name]
    return NamedModel(pattern=pattern, by=by, name=name, fallback=tuple(fallback))


def uninherited(typed: str | None, named: NamedModel | None) -> tuple[Diagnostic, ...]:
    """Say that a call asked for the model of the parent, and that it is not known."""
    if typed is None or typed.strip() != INHERIT or (named is not None and named.name == INHERIT):
        return ()
    instead = "the usual model does the work" if named is None else f"{named.pattern} does the work, as configured"
    message = f"The model of the parent is not known, so {instead}."
    return (Diagnostic(subject="model", message=message, advice="Name it by 'parent_model', or choose another model."),)


def _with_names(error: OhmError, written: str, menu: Mapping[str, object]) -> OhmError:
    """Add the names of the menu to the advice on what is no model."""
    if not menu:
        return error
    names = f"{did_you_mean(written, menu)}Names of subagents.models are {', '.join(menu)}."
    return OhmError(code=error.code, message=error.message, advice=f"{error.advice} {names}")
