"""`ohm config`: the configuration in force, the origin of each value, and the schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ohm_subagents.commands import SUCCESS, print_json, print_text
from ohm_subagents.config import OhmConfig, config_schema, reserved_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents import Ohm
    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.files import KeyPath


def print_config(_ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print the configuration as JSON that could be an ohm.json, with names of key variables and never a key."""
    print_json(_written(loaded))
    return SUCCESS


def print_origins(_ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print the same, with the origin of every value behind it as a comment: still an ohm.json."""
    print_text("\n".join(["{", *_annotated(_written(loaded), loaded), "}"]))
    return SUCCESS


async def print_schema() -> int:
    """Print the JSON Schema of ohm.json."""
    print_json(config_schema())
    return SUCCESS


def _written(loaded: LoadedConfig) -> dict[str, JsonValue]:
    """Return all that is set or has an effect, and a null where it takes a default away."""
    written = loaded.config.model_dump(mode="json", by_alias=True, exclude_none=True)
    defaults = OhmConfig().model_dump(mode="json", by_alias=True, exclude_none=True)
    for path in reserved_fields(OhmConfig):
        _drop(written, defaults, path)
    subagents = written["subagents"]
    guards = OhmConfig().subagents.model_dump(mode="json", by_alias=True, include={"budget"}, exclude_none=True)
    subagents["budget"] = {**dict.fromkeys(guards["budget"]), **subagents["budget"]}
    return written


def _drop(values: dict[str, JsonValue], defaults: dict[str, JsonValue], path: KeyPath) -> None:
    """Leave out a value that is the default, and the sections that are empty then."""
    name, *below = path
    inner, of_default = values.get(name), defaults.get(name)
    if below and isinstance(inner, dict) and isinstance(of_default, dict):
        _drop(inner, of_default, tuple(below))
        if not inner:
            del values[name]
    elif not below and inner == of_default:
        values.pop(name, None)


def _annotated(values: Mapping[str, JsonValue], loaded: LoadedConfig, path: KeyPath = ()) -> Iterator[str]:
    indent = "  " * (len(path) + 1)
    *_, last = values
    for name, value in values.items():
        at, comma = (*path, name), "" if name == last else ","
        written = f"{indent}{json.dumps(name, ensure_ascii=False)}: "
        if isinstance(value, dict) and value:
            yield f"{written}{{"
            yield from _annotated(value, loaded, at)
            yield f"{indent}}}{comma}"
        else:
            yield f"{written}{json.dumps(value, ensure_ascii=False)}{comma}  // {loaded.origin('.'.join(at))}"
