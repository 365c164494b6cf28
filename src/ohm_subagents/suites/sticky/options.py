"""`suiteOptions.sticky` of ohm.json."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from ohm_subagents.suite import FOREVER_MS, Options

SESSIONS: Final = "~/.pi/subagent-sessions"


def _folder(path: str) -> str:
    if path and "\0" not in path:
        return path
    raise PydanticCustomError("not_path", "the path of a folder")


Folder = Annotated[str, AfterValidator(_folder)]


class StickyOptions(Options):
    """The options. Paths are relative to the project's folder; a leading `~` is the user's home."""

    model_config = ConfigDict(defer_build=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    prompt_dirs: tuple[Folder, ...] = ()
    """More folders of agents."""
    sessions_dir: Folder = SESSIONS
    """The folder that keeps the sessions."""
    finalize_retries: int = Field(default=2, ge=0, le=5)
    """The most times that an agent is asked for an answer that it has not handed in."""
    timeout_ms: int | None = Field(default=None, ge=1, le=FOREVER_MS)
    """The time of a run; None for no limit."""
    backend: str | None = None
    """The backend that runs the agents; None for the configured one."""


def expanded(path: str, home: Path) -> Path:
    """Replace a leading `~`."""
    return home / path[2:] if path.startswith("~/") else home if path == "~" else Path(path)


def prompt_folders(options: StickyOptions, home: Path) -> tuple[Path, ...]:
    """Return the user's folders of agents."""
    return tuple(expanded(one, home) for one in options.prompt_dirs)
