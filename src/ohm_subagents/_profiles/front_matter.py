"""The keys of a profile file."""

import re
from typing import Annotated, Final

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from ohm_subagents._config.limits import OwnBudget, OwnLimits
from ohm_subagents._config.schema import FEATURES
from ohm_subagents._config.values import Line, Model, ModelName, ModelOrName, Switch, VariableName, expected
from ohm_subagents._profiles.answer_keys import AnswerKeys
from ohm_subagents.contract.call_rules import split_calls
from ohm_subagents.contract.limits import Budget, Limits
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import InputRole, InputSpec, Profile, ToolPolicy, fold_id
from ohm_subagents.contract.sandbox import SandboxMode
from ohm_subagents.contract.workspace import Isolation, Land

_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def _profile_id(value: object) -> str:
    folded = value.strip().lower() if isinstance(value, str) else ""
    if not _ID.fullmatch(folded):
        raise expected("letters, digits, '-' and '_', at most 64, beginning with a letter or digit")
    return folded


def _input_name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise expected("letters, digits and '_', at most 64, beginning with a letter or '_'")
    return value


def _feature(value: object) -> str:
    if not isinstance(value, str) or value not in FEATURES:
        raise expected("one of " + ", ".join(FEATURES))
    return value


class _Matter(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", alias_generator=to_camel)


class ToolsMatter(_Matter):
    """`[read, grep]`, or the text `read, grep`, is short for `{allow: [read, grep]}`."""

    allow: tuple[Line, ...] | None = None
    ask: tuple[Line, ...] = ()
    deny: tuple[Line, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            value = [name for name in map(str.strip, value.split(",")) if name]
        if not isinstance(value, list | dict):
            raise expected("a list of the names of tools, or an object with 'allow', 'ask' and 'deny'")
        return {"allow": value} if isinstance(value, list) else value

    @model_validator(mode="after")
    def _unambiguous(self) -> "ToolsMatter":
        both = sorted(set(self.allow or ()) & set(self.deny))
        if both:
            msg = f"'{both[0]}' is both allowed and denied; name each tool in one of the two lists"
            raise ValueError(msg)
        fault = split_calls(self.allow, self.deny, self.ask).err()
        if fault is not None:
            raise ValueError(fault)
        return self

    def policy(self, source: str) -> ToolPolicy:
        lists = split_calls(self.allow, self.deny, self.ask, source=source).unwrap()
        return ToolPolicy(allowed=lists.allowed, denied=lists.denied, call_rules=lists.rules)


class InputMatter(_Matter):
    name: Annotated[str, BeforeValidator(_input_name)]
    role: InputRole
    required: Switch = False
    description: str = ""


class BoundKeys(BaseModel):
    """The keys on what a run may touch, and on what ends it early."""

    model_config = ConfigDict(defer_build=True, frozen=True, alias_generator=to_camel)

    isolation: Isolation | None = None
    land: Land | None = None
    limits: OwnLimits | None = None
    budget: OwnBudget | None = None
    polling: tuple[Line, ...] = ()
    sandbox: SandboxMode = "off"


class FrontMatter(BoundKeys, AnswerKeys):
    """The front matter of a profile file."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[str, BeforeValidator(_profile_id)]
    name: Line | None = None
    summary: Line = Field(validation_alias=AliasChoices("summary", "description"))
    when_to_use: tuple[Line, ...] = ()
    primary: Switch = False
    internal: Switch = False
    model: ModelOrName | None = None
    fallback_model: Model | None = None
    strict_model: Switch | None = None
    backend: Line | None = None
    tools: ToolsMatter = ToolsMatter()
    delegate: tuple[Line, ...] = ()
    inputs: tuple[InputMatter, ...] = ()
    feature: Annotated[str, BeforeValidator(_feature)] | None = None
    env: tuple[VariableName, ...] = ()

    @field_validator("inputs")
    @classmethod
    def _one_prompt(cls, inputs: tuple[InputMatter, ...]) -> tuple[InputMatter, ...]:
        names = [one.name for one in inputs]
        if len(names) != len(set(names)):
            msg = "each input needs a name of its own"
            raise ValueError(msg)
        if inputs and sum(one.role == "prompt" for one in inputs) != 1:
            msg = "exactly one input has to have the role 'prompt'"
            raise ValueError(msg)
        return inputs

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        return (*(to_camel(name) for name in cls.model_fields), "description")

    @property
    def unknown(self) -> tuple[str, ...]:
        return tuple(key for key in self.model_extra or () if key != "description")

    def profile(self, *, prompt: str, source: str) -> Profile:
        return Profile(
            id=self.id,
            name=self.name or self.id.replace("-", " ").replace("_", " ").capitalize(),
            summary=self.summary,
            prompt=prompt,
            when_to_use=self.when_to_use,
            primary=self.primary,
            internal=self.internal,
            model=self.model if isinstance(self.model, ModelPattern) else None,
            model_name=self.model.name if isinstance(self.model, ModelName) else "",
            fallback_model=self.fallback_model,
            strict_model=self.strict_model,
            backend=self.backend,
            isolation=self.isolation,
            land=self.land,
            tools=self.tools.policy(source),
            delegate=tuple(map(fold_id, self.delegate)),
            inputs=tuple(
                InputSpec(name=one.name, role=one.role, required=one.required, description=one.description)
                for one in self.inputs
            ),
            feature=self.feature,
            limits=None if self.limits is None else Limits(**self.limits.as_arguments()),
            budget=None if self.budget is None else Budget(**self.budget.as_arguments()),
            polling=self.polling,
            env=self.env,
            sandbox=self.sandbox,
            finalize=self.finalize,
            result_schema=self.result_schema,
            accept=self.accept,
            source=source,
        )
