"""Keep the values that a schema accepts, and name the others."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, TypeGuard, get_args, get_origin

from pydantic import BaseModel, JsonValue, ValidationError

from ohm_subagents._config.reserved import RESERVED
from ohm_subagents._config.values import SECRET, allowed, quoted_value
from ohm_subagents.contract.spelling import nearest_name

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Location
    from ohm_subagents.contract.diagnostics import Diagnostic


_LIKENESS: Final = 0.75
_FEW: Final = 10


def keep_valid(
    schema: type[BaseModel],
    values: Mapping[str, JsonValue],
    place: Callable[[KeyPath], Location],
    *,
    complete: bool,
    fate: str = "is ignored",
    shown_by: str = "",
    quote: Callable[[object], str] = quoted_value,
) -> tuple[dict[str, JsonValue], tuple[Diagnostic, ...]]:
    """Drop each value that is wrong and each key that is unknown, with a diagnostic.

    While layers are still apart (`complete=False`), a missing key is no fault: another layer may have it. `fate` is
    what a wrong value does, `shown_by` what shows every key that there is; `quote` puts a wrong value into words.
    """
    kept = copy.deepcopy(dict(values))
    found: list[Diagnostic] = []
    while True:
        errors = _errors(schema, kept, complete=complete)
        if not errors:
            return kept, tuple(found)
        at = {_existing(kept, error["loc"]): error for error in errors}
        for path, error in sorted(at.items(), key=lambda item: [_order(part) for part in item[0]], reverse=True):
            found.append(
                _diagnostic(schema, error, place(tuple(str(part) for part in path)), fate, shown_by, quote=quote)
            )
            _drop(kept, path)


def _errors(schema: type[BaseModel], values: dict[str, JsonValue], *, complete: bool) -> list[ErrorDetails]:
    try:
        schema.model_validate(values, by_alias=True, by_name=False)
    except ValidationError as error:
        return [
            one for one in error.errors(include_url=False, include_context=True) if complete or one["type"] != "missing"
        ]
    return []


def _existing(values: dict[str, JsonValue], location: Sequence[int | str]) -> tuple[int | str, ...]:
    """Return the part of an error's location that the values have; a missing key is a fault of the object around it.

    Short forms are skipped: `tools.allow.0` is `tools.0` where `tools` is a list.
    """
    path: list[int | str] = []
    at: JsonValue = values
    for part in location:
        inner = _inner(at, part)
        if inner is not None:
            at = inner[0]
            path.append(part)
    return tuple(path)


def _inner(values: JsonValue, part: int | str) -> tuple[JsonValue] | None:
    match values, part:
        case dict(), str() if part in values:
            return (values[part],)
        case list(), int():
            return (values[part],)
        case _:
            return None


def _drop(values: dict[str, JsonValue], path: tuple[int | str, ...]) -> None:
    at: JsonValue = values
    for part in path[:-1]:
        inner = _inner(at, part)
        at = inner[0] if inner else None
    if isinstance(at, dict):
        at.pop(str(path[-1]), None)
    elif isinstance(at, list):
        del at[int(path[-1])]


def _order(part: int | str) -> tuple[int, str]:
    return (part, "") if isinstance(part, int) else (-1, part)


def known_keys(schema: type[BaseModel], location: Sequence[int | str]) -> tuple[str, ...]:
    """Return the keys of the object that holds the last part of `location`, as a file has them."""
    inside_collection = False
    for part in location[:-1]:
        if inside_collection:
            inside_collection = False
            continue
        annotation = next(field.annotation for field in schema.model_fields.values() if field.alias == part)
        inside_collection = get_origin(annotation) in {Mapping, tuple}
        schema = next(one for one in (annotation, *get_args(annotation)) if _is_schema(one))
    return tuple(sorted(field.alias or name for name, field in schema.model_fields.items()))


@cache
def _elsewhere(schema: type[BaseModel]) -> Mapping[str, str]:
    """Map each plain key to the dotted key where it belongs; of several, to the one nearest to the top.

    Reserved fields are left out: they have no effect in their own place either.
    """
    found: dict[str, str] = {}
    level: list[tuple[str, type[BaseModel]]] = [("", schema)]
    while level:
        fields = [
            (f"{at}{field.alias or name}", field)
            for at, one in level
            for name, field in one.model_fields.items()
            if field.json_schema_extra != RESERVED
        ]
        for path, _ in fields:
            found.setdefault(_plain(path.rpartition(".")[2]), path)
        level = [(f"{path}.", field.annotation) for path, field in fields if _is_schema(field.annotation)]
    return found


def meant_key(written: str, known: Sequence[str], shown_by: str = "", schema: type[BaseModel] | None = None) -> str:
    """Advise on an unknown key: its own place in `schema`, else the key that is spelt nearly so.

    Without either all keys are named, or the command that shows them.
    """
    plain = {_plain(name): name for name in known}
    place = None if schema is None else _elsewhere(schema).get(_plain(written))
    if place is not None and _plain(written) not in plain:
        return f"Did you mean '{place}'?"
    near = nearest_name(_plain(written), plain, likeness=_LIKENESS)
    if near is not None:
        return f"Did you mean '{plain[near]}'?"
    return f"{shown_by} shows what is known." if shown_by and len(known) > _FEW else f"Known here: {', '.join(known)}."


def _plain(key: str) -> str:
    """Strip a key of its style: `output_max_chars` is `outputMaxChars`."""
    return key.replace("_", "").replace("-", "").casefold()


def _is_schema(annotation: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _diagnostic(
    schema: type[BaseModel],
    error: ErrorDetails,
    place: Location,
    fate: str,
    shown_by: str,
    *,
    quote: Callable[[object], str],
) -> Diagnostic:
    match error["type"]:
        case "extra_forbidden":
            advice = meant_key(str(error["loc"][-1]), known_keys(schema, error["loc"]), shown_by, schema)
            return place.diagnostic(f"'{place.key}' is not a known key, and {fate}. {advice}")
        case "missing":
            return place.diagnostic(f"'{place.key}' lacks '{error['loc'][-1]}'; it {fate}.")
        case type_ if type_ == SECRET:
            return place.diagnostic(f"'{place.key}' has to be {allowed(error)}; it {fate}.")
        case _:
            return place.diagnostic(
                f"'{place.key}' is {quote(error['input'])}, but has to be {allowed(error)}; it {fate}."
            )
