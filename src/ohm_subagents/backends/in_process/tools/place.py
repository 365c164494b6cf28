"""A path inside the task's working directory: the one gate between a model's path argument and the disk."""

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.workspaces import Workspace

from ohm_subagents.backends.in_process.tools.failure import fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """`path` is absolute, inside `root`, and free of symlinks; both are real paths."""

    root: Path
    path: Path

    @property
    def shown(self) -> str:
        """The path as the model should write it: relative to the working directory."""
        return printable(self.path.relative_to(self.root).as_posix())


def printable(path: str) -> str:
    """Return a file name that any encoder accepts; bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", errors="replace")


async def locate(workspace: Workspace, path: str) -> Place:
    """Resolve `path` from the working directory, or fail when it leads outside; it need not exist.

    A resolved path is resolved again: `realpath` gives up behind a symlink loop, and what it then returns may still
    hold a link that leads out (`loop/../link`).
    """
    try:
        root = await workspace.realpath(await workspace.working_dir())
        real = await workspace.realpath(path or ".")
        settled = await workspace.realpath(real)
    except ValueError as error:  # a NUL or a lone surrogate
        fail(f"{path!a} is not a valid path.", error)
    if real != settled or not Path(real).is_relative_to(root):
        fail(
            f'The path "{path}" leads outside the working directory; only files inside it can be used: '
            "give a path relative to it."
        )
    return Place(root=Path(root), path=Path(real))
