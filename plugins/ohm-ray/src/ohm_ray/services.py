"""The OpenAI-compatible services of a program, as its runners know them: the address, and the name of a variable."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pydantic import TypeAdapter

from ohm_subagents.plugin import CompatibleProvider
from ohm_subagents.redaction import REDACTED, Redaction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

Services = tuple[CompatibleProvider, ...]
_SERVICES: Final = TypeAdapter(Services)
_STAYS: Final = (
    "and keys do not travel to runners: name, as apiKeyEnv of providers in ohm.json, a variable of their machines"
)


def keyless(providers: Iterable[CompatibleProvider]) -> Services:
    """Return the services without their keys; what one cannot be asked without is its `obstacle`."""
    return tuple(map(_keyless, providers))


def _keyless(one: CompatibleProvider) -> CompatibleProvider:
    if one.api_key:
        return replace(one, api_key="", obstacle=f'provider "{one.name}" has its key in {one.source}, {_STAYS}')
    if "@" in urlsplit(one.base_url).netloc or REDACTED in Redaction().text(one.base_url):
        return replace(
            one, base_url="", obstacle=f'the address of provider "{one.name}" has what looks like a key, {_STAYS}'
        )
    return one


def written(services: Services) -> JsonValue:
    """Return the services as JSON."""
    as_json: JsonValue = _SERVICES.dump_python(services, mode="json")
    return as_json


def read(services: JsonValue) -> Services:
    """Return the services of `written`."""
    return _SERVICES.validate_python(services, strict=False)
