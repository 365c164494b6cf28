"""Options of a backend, as ohm.json gives them, checked by the schema of the backend."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from ohm_subagents._plugins.backends.backend_type import TYPE_KEY
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core import ErrorDetails

    from ohm_subagents._plugins.backends.interface import BackendSpec, Options
    from ohm_subagents._plugins.suites.tool import JsonObject

_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("tuple_type", "list_type"), "a list"),
        **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "an object"),
        **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
        "string_type": "a string",
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
        first = invalid.errors(include_url=False, include_input=False)[0]
    known = ", ".join(sorted(field.alias or name for name, field in spec.options.model_fields.items())) or "none"
    return Err(
        OhmError(
            code=ErrorCode.BACKEND_OPTIONS_INVALID,
            message=_fact(spec, first),
            advice=f"Its options: {known}. Correct subagents.backends.{spec.id} in ohm.json.",
        )
    )


def _fact(spec: BackendSpec, error: ErrorDetails) -> str:
    key = ".".join(str(part) for part in ("subagents", "backends", spec.id, *error["loc"]))
    match error:
        case {"type": "missing"}:
            return f"'{key}' is missing."
        case {"type": "extra_forbidden", "loc": (str(name),)} if name == TYPE_KEY:
            return f"'{key}' has no effect: a plugin offers the backend '{spec.id}' itself. Give yours another id."
        case {"type": "extra_forbidden"}:
            known = (field.alias or name for name, field in spec.options.model_fields.items())
            guess = did_you_mean(str(error["loc"][-1]), known)
            return f"'{key}' is not an option of backend '{spec.id}'. {guess}".rstrip()
        case {"type": "too_short", "ctx": {"min_length": 1}}:
            return f"'{key}' must have at least one entry."
        case {"type": "string_too_short", "ctx": {"min_length": 1}}:
            return f"'{key}' must be a non-empty string."
        case {"type": "greater_than_equal", "ctx": {"ge": least}}:
            return f"'{key}' must be at least {least}."
        case {"type": "literal_error", "ctx": {"expected": expected}}:
            return f"'{key}' must be one of {expected}."
        case {"type": type_} if type_ in _WORDS:
            return f"'{key}' must be {_WORDS[type_]}."
        case _:
            return f"'{key}' is not valid: {error['msg']}."
