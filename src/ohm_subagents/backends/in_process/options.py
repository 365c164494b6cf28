"""The id and the options of `interactive-sdk`."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from ohm_subagents.plugin import Options

BACKEND_ID: Final = "interactive-sdk"


class InProcessOptions(Options):
    """`subagents.backends."interactive-sdk"` of ohm.json.

    `requestLimit`: model requests one run may make, null for no limit. `readTimeoutMs`: how long a model may be
    silent, in milliseconds. `contextFiles`: names of files, say `AGENTS.md`, of which the nearest in a project becomes
    part of the instructions; none by default.
    """

    model_config = ConfigDict(defer_build=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    request_limit: int | None = Field(default=None, ge=1)
    read_timeout_ms: int = Field(default=120_000, ge=1)
    context_files: tuple[Annotated[str, Field(pattern=r"^[^/\\]+$")], ...] = ()
