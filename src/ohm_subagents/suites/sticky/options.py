"""`suiteOptions.sticky` of ohm.json."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from ohm_subagents.suite import FOREVER_MS, Options

if TYPE_CHECKING:
    from collections.abc import Mapping

SESSIONS: Final = "~/.pi/subagent-sessions"


def _folder(path: str) -> str:
    if path and "\0" not in path:
        return path
    raise PydanticCustomError("not_path", "the path of a folder")


Folder = Annotated[str, AfterValidator(_folder)]


class StickyOptions(Options):
    """`promptDirs`: more folders of agents. `sessionsDir`: where sessions are kept, both
    from the folder of the project on. `backend`: whom to run on.

    `finalizeRetries`: how often an agent that has not handed in its answer is told so. `timeoutMs`: of a run, if any.
    """

    model_config = ConfigDict(defer_build=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    prompt_dirs: tuple[Folder, ...] = ()
    sessions_dir: Folder = SESSIONS
    finalize_retries: int = Field(default=2, ge=0, le=5)
    timeout_ms: int | None = Field(default=None, ge=1, le=FOREVER_MS)
    backend: str | None = None


def expanded(path: str, home: Path) -> Path:
    """The path with a leading `~` replaced."""
    return home / path[2:] if path.startswith("~/") else home if path == "~" else Path(path)


def prompt_folders(given: Mapping[str, JsonValue], home: Path) -> tuple[Path, ...]:
    """Return the user's folders of agents; none where the options are wrong, which mounting reports."""
    try:
        options = StickyOptions.model_validate(given)
    except ValidationError:
        return ()
    return tuple(expanded(one, home) for one in options.prompt_dirs)
