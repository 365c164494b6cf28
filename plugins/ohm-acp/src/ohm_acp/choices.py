"""The choices that a session offers: models and thinking levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

from acp.schema import NewSessionResponse, SessionConfigOptionSelect, SessionConfigSelectGroup
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.plugin import JsonObject, ModelPattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One thing that can be chosen."""

    values: tuple[str, ...]
    """The values that the agent offers."""
    current: str
    """The value in force."""
    option: str = ""
    """The id of the option of the session; empty for the older request that sets a model."""

    def request(self, session: str, value: str) -> tuple[str, JsonObject]:
        """Return the method that sets a value, and its parameters."""
        if self.option:
            return "session/set_config_option", {"sessionId": session, "configId": self.option, "value": value}
        return "session/set_model", {"sessionId": session, "modelId": value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The choices of a session; None for one that the agent does not offer."""

    model: Choice | None = None
    """The model."""
    thinking: Choice | None = None
    """The thinking level."""
    mode: str = ""
    """The mode in force."""

    @classmethod
    def read(cls, answer: JsonObject) -> Self:
        """Return the choices in the answer to a request that opens a session."""
        try:
            session = NewSessionResponse.model_validate({"sessionId": "", **answer})
        except ValidationError:
            return cls()
        found: dict[str, Choice] = {}
        for option in session.config_options or []:
            if isinstance(option, SessionConfigOptionSelect) and isinstance(option.category, str):
                values = tuple(_values(option))
                found[option.category] = Choice(values=values, current=option.current_value, option=option.id)
        mode = session.modes.current_mode_id if session.modes else ""
        return cls(model=found.get("model") or _older(answer), thinking=found.get("thought_level"), mode=mode)


def model_value(choice: Choice, model: ModelPattern) -> str | None:
    """Return the agent's name for a model; None if it does not offer it."""
    wanted = (f"{model.provider}/{model.model}", model.model)
    return next((name for name in wanted if name in choice.values), None)


def _values(option: SessionConfigOptionSelect) -> Iterator[str]:
    for one in option.options:
        if isinstance(one, SessionConfigSelectGroup):
            yield from (inner.value for inner in one.options)
        else:
            yield one.value


def _older(answer: JsonObject) -> Choice | None:
    """Return the models as agents offer them that have no options of sessions yet."""
    match answer.get("models"):
        case {"availableModels": list(models), "currentModelId": str(current)}:
            rows = (cast("JsonObject", one) for one in models if isinstance(one, dict))
            values = tuple(name for row in rows if isinstance(name := row.get("modelId"), str))
            return Choice(values=values, current=current)
        case _:
            return None
