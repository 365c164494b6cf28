"""`suiteOptions.sticky` of ohm.json."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ohm_subagents._plugins.interfaces import Options
from ohm_subagents._surfaces.arguments import complaint

SESSIONS: Final = "~/.pi/subagent-sessions"


class StickyOptions(Options):
    """`promptDirs`: more folders of agents. `sessionsDir`: where sessions are kept. `backend`: whom to run on.

    `finalizeRetries`: how often an agent that has not handed in its answer is told so. `timeoutMs`: of a run, if any.
    """

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    prompt_dirs: tuple[str, ...] = ()
    sessions_dir: str = Field(default=SESSIONS, min_length=1)
    finalize_retries: int = Field(default=2, ge=0, le=5)
    timeout_ms: int | None = Field(default=None, ge=1)
    backend: str | None = None


def read_options(given: object) -> StickyOptions:
    """The options as they are written; raises `ValueError` with one sentence about the first that is wrong."""
    try:
        return StickyOptions.model_validate(given)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        known = ", ".join(field.alias or name for name, field in StickyOptions.model_fields.items())
        otherwise = first["msg"].removeprefix("Input should be ")
        wrong = complaint(first, allowed={"extra_forbidden": f"the keys {known}"}, otherwise=otherwise)
        raise ValueError(f"'suiteOptions.sticky.{key}' {wrong}".rstrip(".")) from None


def expanded(path: str, home: Path) -> Path:
    """The path with a leading `~` replaced."""
    return home / path[2:] if path.startswith("~/") else home if path == "~" else Path(path)
