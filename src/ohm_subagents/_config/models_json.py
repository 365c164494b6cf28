"""`models.json` of the agent directory: the providers and models that `pi` knows besides its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ohm_subagents._config.accept import accepted
from ohm_subagents._config.layers import read_file
from ohm_subagents._config.values import (
    SECRET,
    Key,
    Line,
    PositiveInt,
    Switch,
    WebAddress,
    expected,
    shown,
)
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE_NAME: Final = "models.json"
COMPLETIONS: Final = "openai-completions"
_REFERENCE: Final = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_NAME: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")  # with a line below: AKIA… is a key


def _quoted(value: object) -> str:
    """A wrong value in words; of a list or an object none of what is in it, for that may be a key."""
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else shown(value)


def _provider_object(value: object) -> object:
    """A provider; what stands there in its place may be its key."""
    if not isinstance(value, dict):
        raise expected("an object", kind=SECRET)
    return cast("object", value)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)


class _Model(_Part):
    id: Line
    reasoning: Switch = False
    context_window: PositiveInt | None = None


class _Provider(_Part):
    base_url: WebAddress | None = None
    api: Line | None = None
    api_key: Key | None = Field(default=None, repr=False)
    models: tuple[_Model, ...] = ()


class _Models(_Part):
    providers: dict[str, Annotated[_Provider, BeforeValidator(_provider_object)]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PiModel:
    """A model, and what is said of it."""

    id: str
    reasons: bool
    context_window: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PiProvider:
    """A provider by its folded name. `key_env` names the variable of its key, or `key` is it, or neither is known.

    `key_place` is where that stands, which is told in place of it: what looks like a name may be a key.
    `is_command`: its key is what a command says, which only `pi` runs.
    """

    name: str
    base_url: str | None
    api: str
    key_env: str | None = field(repr=False)
    key: str = field(repr=False)
    key_place: str
    is_command: bool
    models: tuple[PiModel, ...]


def load_models_json(agent_dir: Path, env: Mapping[str, str]) -> tuple[tuple[PiProvider, ...], tuple[Diagnostic, ...]]:
    """Read the file. One that cannot be read counts as empty, a wrong value as not given; both are told."""
    read = read_file(agent_dir / FILE_NAME, "given")
    if isinstance(read, Err):
        return (), (Diagnostic(subject=FILE_NAME, message=f"{read.err_value.message} It counts as empty."),)
    layer = read.ok_value
    if layer is None:
        return (), ()
    kept, wrong = accepted(_Models, layer.values, layer.place, complete=True, quote=_quoted)
    known = _Models.model_validate(kept, by_alias=True)
    return tuple(_provider(name, one, env) for name, one in known.providers.items()), wrong


def _provider(name: str, written: _Provider, env: Mapping[str, str]) -> PiProvider:
    key_env, key = _key(written.api_key or "", env)
    return PiProvider(
        name=name.strip().lower(),
        base_url=written.base_url,
        api=written.api or COMPLETIONS,
        key_env=key_env,
        key=key,
        key_place=f"the variable of providers.{name}.apiKey in {FILE_NAME}",
        is_command=(written.api_key or "").startswith("!"),
        models=tuple(
            PiModel(id=one.id, reasons=one.reasoning, context_window=one.context_window) for one in written.models
        ),
    )


def _key(written: str, env: Mapping[str, str]) -> tuple[str | None, str]:
    """The variable that is meant, or the key itself: `$NAME`, `${NAME}`, `NAME` of old, or what is none of these."""
    if not written or written.startswith("!"):
        return None, ""
    reference = _REFERENCE.fullmatch(written)
    if reference is not None:
        return reference[1] or reference[2], ""
    return (written, "") if written in env or _NAME.fullmatch(written) else (None, written)
