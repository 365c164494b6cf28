"""`suiteOptions.sticky` of ohm.json."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from ohm_subagents._plugins.interfaces import Options

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


def expanded(path: str, home: Path) -> Path:
    """The path with a leading `~` replaced."""
    return home / path[2:] if path.startswith("~/") else home if path == "~" else Path(path)
