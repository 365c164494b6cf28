"""`suiteOptions.delegate` of ohm.json."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from ohm_subagents._plugins.interfaces import Options
from ohm_subagents._surfaces.arguments import complaint


class DelegateOptions(Options):
    """`filesOutsideCwd`: `deny` keeps files outside of a task's directory out of prompts. `backend`: whom to run on."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    files_outside_cwd: Literal["allow", "deny"] = "allow"
    backend: str | None = None


def read_options(given: object) -> DelegateOptions:
    """The options as they are written; raises `ValueError` with one sentence about the first that is wrong."""
    try:
        return DelegateOptions.model_validate(given)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        known = ", ".join(field.alias or name for name, field in DelegateOptions.model_fields.items())
        allowed = {"literal_error": '"allow" or "deny"', "extra_forbidden": f"the keys {known}"}
        wrong = f"'suiteOptions.delegate.{key}' {complaint(first, allowed=allowed)}"
        raise ValueError(wrong.rstrip(".")) from None
