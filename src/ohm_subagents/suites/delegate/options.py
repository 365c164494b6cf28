"""`suiteOptions.delegate` of ohm.json."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from ohm_subagents.suite import Options


class DelegateOptions(Options):
    """`filesOutsideCwd`: `deny` keeps files outside of a task's directory out of prompts. `backend`: whom to run on."""

    model_config = ConfigDict(defer_build=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    files_outside_cwd: Literal["allow", "deny"] = "allow"
    backend: str | None = None
