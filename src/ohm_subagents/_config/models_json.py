"""`models.json` of the agent directory: the providers and models that `pi` knows besides its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ohm_subagents._config.accept import keep_valid
from ohm_subagents._config.layers import read_settings
from ohm_subagents._config.values import (
    SECRET,
    Key,
    Line,
    PositiveInt,
    Switch,
    WebAddress,
    expected,
    quoted_value,
)
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.result import Err
from ohm_subagents.contract.services import CompatibleModel, CompatibleProvider

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE_NAME: Final = "models.json"
COMPLETIONS: Final = "openai-completions"
_REFERENCE: Final = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_NAME: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")  # with a line below: AKIA… is a key


def _quoted(value: object) -> str:
    """Quote a wrong value; of a list or an object nothing that is in it, which may be a key."""
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else quoted_value(value)


def _provider_object(value: object) -> object:
    """Accept an object; any other value may be the key itself, and is not quoted."""
    if not isinstance(value, dict):
        raise expected("an object", kind=SECRET)
    return cast("object", value)


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore", alias_generator=to_camel)


class _Model(_Part):
    id: Line
    reasoning: Switch = False
    input: tuple[Line, ...] = ()
    context_window: PositiveInt | None = None


class _Provider(_Part):
    base_url: WebAddress | None = None
    api: Line | None = None
    api_key: Key | None = Field(default=None, repr=False)
    models: tuple[_Model, ...] = ()


class _Models(_Part):
    providers: dict[str, Annotated[_Provider, BeforeValidator(_provider_object)]] = {}


def load_models_json(
    agent_dir: Path, env: Mapping[str, str]
) -> tuple[tuple[CompatibleProvider, ...], tuple[Diagnostic, ...]]:
    """Read the file. One that cannot be read counts as empty, a wrong value as not given; both are diagnostics."""
    read = read_settings(agent_dir / FILE_NAME, "given")
    if isinstance(read, Err):
        return (), (Diagnostic(subject=FILE_NAME, message=f"{read.err_value.message} It counts as empty."),)
    layer = read.ok_value
    if layer is None:
        return (), ()
    kept, wrong = keep_valid(_Models, layer.values, layer.place, complete=True, quote=_quoted)
    known = _Models.model_validate(kept, by_alias=True)
    return tuple(_service(name, one, env) for name, one in known.providers.items()), wrong


def _service(name: str, written: _Provider, env: Mapping[str, str]) -> CompatibleProvider:
    key_env, key = _key(written.api_key or "", env)
    folded = name.strip().lower()
    return CompatibleProvider(
        name=folded,
        base_url=written.base_url or "",
        api_key_env=key_env,
        api_key=key,
        key_place=f"the variable of providers.{name}.apiKey in {FILE_NAME}",
        models=tuple(
            CompatibleModel(
                id=one.id,
                supports_thinking=one.reasoning,
                supports_images="image" in one.input,
                context_window=one.context_window,
            )
            for one in written.models
        ),
        source=FILE_NAME,
        obstacle=_obstacle(f'Provider "{folded}" of {FILE_NAME}', written),
    )


def _obstacle(who: str, written: _Provider) -> str:
    api = written.api or COMPLETIONS
    if api != COMPLETIONS:
        return f'{who} speaks "{api}", of which interactive-sdk knows {COMPLETIONS} only'
    if (written.api_key or "").startswith("!"):
        return f"{who} has its key from a command, which only pi runs"
    return "" if written.base_url else f"{who} has no baseUrl"


def _key(written: str, env: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the variable that is meant, or the key itself: `$NAME`, `${NAME}` and the old `NAME` are variables."""
    if not written or written.startswith("!"):
        return None, ""
    reference = _REFERENCE.fullmatch(written)
    if reference is not None:
        return reference[1] or reference[2], ""
    return (written, "") if written in env or _NAME.fullmatch(written) else (None, written)
