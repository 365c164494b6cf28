"""`suiteOptions.<suite>` of ohm.json, validated by the suite's model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from ohm_subagents._surfaces.arguments import complaint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.interfaces import OptionsT


class WrongOptionError(ValueError):
    """An option is wrong; the message is one sentence."""


def suite_options(shape: type[OptionsT], given: Mapping[str, JsonValue], *, suite: str) -> OptionsT:
    """Validate the options. Raises `WrongOptionError` about the first that is wrong."""
    try:
        return shape.model_validate(given)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        known = ", ".join(field.alias or name for name, field in shape.model_fields.items())
        otherwise = first["msg"].removeprefix("Input should be ")
        wrong = complaint(first, allowed={"extra_forbidden": f"the keys {known}"}, otherwise=otherwise)
        raise WrongOptionError(f"'suiteOptions.{suite}.{key}' {wrong}".rstrip(".")) from None
