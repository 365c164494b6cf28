"""The choices of a session that an editor shows: the subagent, as a mode and as an option, and the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from acp.schema import SessionConfigOptionSelect, SessionConfigSelectOption, SessionMode, SessionModeState

from ohm_subagents.contract import Err, ModelPattern, Ok, parse_model_pattern
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from acp.schema import SessionConfigOptionBoolean

    from ohm_subagents import Ohm
    from ohm_subagents.contract import Result
    from ohm_subagents.contract.profile import Profile

PROFILE: Final = "subagent"
MODEL: Final = "model"
CONFIGURED: Final = "configured"
"""The model that the configuration, or the profile, names."""
USUAL: Final = "task"
"""The profile of a session where nothing names one, as far as it is there: it has all tools."""


class Choices:
    """The subagent and the model of one session, which hold from its next prompt on."""

    def __init__(self, ohm: Ohm, profile: str) -> None:
        """Use `begun`."""
        self._ohm = ohm
        self.profile = profile
        self._model = CONFIGURED

    @classmethod
    def begun(cls, ohm: Ohm, profile: str | None) -> Result[Choices, str]:
        """Begin with a profile; without one, with that of the configuration, else with one that has all tools."""
        known = {each.id: each for each in ohm.profiles}
        named = profile or ohm.config.editor_subagent
        if named is None:
            usual = USUAL if USUAL in known else next(iter(known), None)
            return Err("There is no subagent to work with.") if usual is None else Ok(cls(ohm, usual))
        found = _find(ohm, named)
        return Err(_unknown(ohm, named)) if found is None else Ok(cls(ohm, found.id))

    @property
    def model(self) -> str | None:
        """The model in place of the configured one; None for that."""
        return None if self._model == CONFIGURED else self._model

    def choose(self, option: str, value: str) -> str | None:
        """Choose a value of an option; return the sentence that refuses it, or None."""
        if option == PROFILE:
            found = _find(self._ohm, value)
            if found is None:
                return _unknown(self._ohm, value)
            self.profile = found.id
            return None
        if option == MODEL:
            is_known = value == CONFIGURED or value in self._ohm.config.subagents.menu
            parsed = Ok(None) if is_known else parse_model_pattern(value)
            if isinstance(parsed, Err):
                return f"{parsed.err_value}"
            self._model = value
            return None
        return f"There is no option {option!r:.80}; allowed: '{PROFILE}', '{MODEL}'."

    def modes(self) -> SessionModeState:
        """Return the subagents as modes, for an editor without options."""
        modes = [SessionMode(id=each.id, name=each.name, description=each.summary) for each in self._ohm.profiles]
        return SessionModeState(current_mode_id=self.profile, available_modes=modes)

    def options(self) -> list[SessionConfigOptionSelect | SessionConfigOptionBoolean]:
        """Return the options with their values."""
        profiles = [(each.id, each.name, each.summary) for each in self._ohm.profiles]
        menu = self._ohm.config.subagents.menu
        named = dict.fromkeys(one for one in (*_models(self._ohm), self._model) if one not in {CONFIGURED, *menu})
        models = [(one, one, None) for one in named]
        configured = (CONFIGURED, "As configured", "The model that ohm.json, the subagent or a key chooses.")
        return [
            _select(PROFILE, "Subagent", "mode", self.profile, profiles),
            _select(MODEL, "Model", "model", self._model, [configured, *_names(menu), *models]),
        ]


def _select(
    option: str,
    name: str,
    category: Literal["mode", "model"],
    value: str,
    values: Iterable[tuple[str, str, str | None]],
) -> SessionConfigOptionSelect:
    return SessionConfigOptionSelect(
        type="select",
        id=option,
        name=name,
        category=category,
        current_value=value,
        options=[SessionConfigSelectOption(value=one, name=shown, description=more) for one, shown, more in values],
    )


def _names(menu: Mapping[str, tuple[ModelPattern, ...]]) -> Iterator[tuple[str, str, str]]:
    """Yield each name of the menu, with the models that it stands for."""
    for name, (model, *fallback) in menu.items():
        yield name, name, f"{model}" + "".join(f", then {one}" for one in fallback)


def _models(ohm: Ohm) -> Iterator[str]:
    """Yield the models that the configuration names, and the defaults of providers whose key is set."""
    subagents = ohm.config.subagents
    for named in (subagents.model, *(subagents.entry(profile.id).model for profile in ohm.profiles)):
        if isinstance(named, ModelPattern):  # what names no model is told when a subagent is to run on it
            yield f"{named}"
    for name, provider in ohm.config.providers.items():
        yield from (f"{name}/{model.id}" for model in provider.models)
    models = ohm.inspect().models
    for spec in models.specs:
        if spec.default_model is not None and not models.lacks(spec):
            yield f"{spec.provider}/{spec.default_model}"


def _find(ohm: Ohm, profile: str) -> Profile | None:
    return next((each for each in ohm.profiles if each.id.casefold() == profile.strip().casefold()), None)


def _unknown(ohm: Ohm, profile: str) -> str:
    ids = [each.id for each in ohm.profiles]
    return f"No subagent is called {profile!r:.80}. {did_you_mean(profile, ids)}Available: {', '.join(ids)}."
