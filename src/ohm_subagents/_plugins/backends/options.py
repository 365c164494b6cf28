"""Options of a backend, as ohm.json gives them, checked by the schema of the backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from pydantic import ValidationError

from ohm_subagents._plugins.backends.backend_type import TYPE_KEY
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from ohm_subagents._plugins.backends.interface import BackendSpec, Options
    from ohm_subagents._plugins.suites.tool import JsonObject

_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("tuple_type", "list_type"), "a list"),
        **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "an object"),
        **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
        **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "a number"),
        **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
        "string_type": "a string",
    }
)
_BOUNDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "greater_than_equal": "at least {ge}",
        "greater_than": "more than {gt}",
        "less_than_equal": "at most {le}",
        "less_than": "less than {lt}",
    }
)


def validated(spec: BackendSpec, options: Mapping[str, JsonObject]) -> Result[Options, OhmError]:
    """Return the options of `spec`; the error `backend_options_invalid` says what is wrong, and never the value.

    Options may hold a secret, and the text is read by a model.
    """
    written = options.get(spec.id, {})
    given = {key: value for key, value in written.items() if key != TYPE_KEY} if spec.backend_type else written
    try:
        return Ok(spec.options.model_validate(given))
    except ValidationError as invalid:
        fault = _plainest(invalid.errors(include_url=False, include_input=False), given)
    known = ", ".join(sorted(field.alias or name for name, field in spec.options.model_fields.items())) or "none"
    return Err(
        OhmError(
            code=ErrorCode.BACKEND_OPTIONS_INVALID,
            message=_fact(spec, fault),
            advice=f"Its options: {known}. Correct subagents.backends.{spec.id} in ohm.json.",
        )
    )


class _Fault(NamedTuple):
    """The faults of the options: errors at one place, of which each is that of another kind of value."""

    path: tuple[str, ...]
    errors: Sequence[ErrorDetails]


def _plainest(errors: Sequence[ErrorDetails], given: Mapping[str, object]) -> _Fault:
    """Return the first fault. Where an option has values of several kinds, it is that of the kind that was meant.

    That is the one of which the most was understood: it fails deeper inside, or in more than in its type.
    """
    of_option = [(_path(one, given), one) for one in errors if one["loc"][:1] == errors[0]["loc"][:1]]
    path = max((path for path, _ in of_option), key=len)  # the first of the longest
    here = [one for where, one in of_option if where == path]
    return _Fault(path, [one for one in here if one["type"] not in _WORDS][:1] or here)


def _path(error: ErrorDetails, given: object) -> tuple[str, ...]:
    """Return the place of an error in what was given, without the names that a kind of value has in the schema."""
    found: list[str] = []
    value = given
    for part in error["loc"]:
        is_there = False
        if isinstance(value, Mapping):
            members = cast("Mapping[object, object]", value)
            is_there, value = part in members, members.get(part, members)
        elif isinstance(value, list | tuple) and isinstance(part, int):
            is_there, value = True, cast("Sequence[object]", value)[part]
        if is_there or not found:
            found.append(str(part))
    if error["type"] == "missing" and found[-1:] != [str(error["loc"][-1])]:
        found.append(str(error["loc"][-1]))
    return tuple(found)


def _fact(spec: BackendSpec, fault: _Fault) -> str:
    key = ".".join(("subagents", "backends", spec.id, *fault.path))
    match fault.errors[0]:
        case {"type": "missing"}:
            return f"'{key}' is missing."
        case {"type": "extra_forbidden", "loc": (str(name),)} if name == TYPE_KEY:
            return f"'{key}' has no effect: a plugin offers the backend '{spec.id}' itself. Give yours another id."
        case {"type": "extra_forbidden"}:
            known = (field.alias or name for name, field in spec.options.model_fields.items())
            guess = did_you_mean(fault.path[-1], known) if len(fault.path) == 1 else ""
            return f"'{key}' is not an option of backend '{spec.id}'. {guess}".rstrip()
        case {"type": "too_short", "ctx": {"min_length": 1}}:
            return f"'{key}' must have at least one entry."
        case {"type": "string_too_short", "ctx": {"min_length": 1}}:
            return f"'{key}' must be a non-empty string."
        case {"type": type_, "ctx": bound} if type_ in _BOUNDS:
            return f"'{key}' must be {_BOUNDS[type_].format(**bound)}."
        case {"type": "literal_error", "ctx": {"expected": expected}}:
            return f"'{key}' must be one of {expected}."
        case {"type": "value_error", "ctx": {"error": why}}:
            return f"'{key}' is not valid: {why}."
        case {"type": type_} if type_ in _WORDS:
            kinds = dict.fromkeys(_WORDS[one["type"]] for one in fault.errors)
            return f"'{key}' must be {' or '.join(kinds)}."
        case error:
            return f"'{key}' is not valid: {error['msg']}."
