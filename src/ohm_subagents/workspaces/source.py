"""The repository that a directory is in, found without asking git, which would read its settings."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.workspaces.failure import WorkspaceError

if TYPE_CHECKING:
    from pathlib import Path

_MAX_BYTES: Final = 1_000_000
_SHA256: Final = re.compile(rb"objectformat\s*=\s*\"?sha256", re.IGNORECASE)
_BRANCH: Final = re.compile(r"ref: refs/heads/(\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A repository and its working tree."""

    top: Path
    """The directory of the working tree."""
    git_dir: Path
    """The directory of its HEAD and its index."""
    common_dir: Path
    """The directory of its objects and refs, which linked worktrees share."""
    is_ours: bool = False
    """It is one of ours, of files that are in no repository: its index only remembers what they were."""

    @property
    def objects(self) -> Path:
        """The directory of its objects."""
        return self.common_dir / "objects"

    @property
    def branch(self) -> str:
        """The name of the branch that is checked out; `main` where there is none."""
        found = _BRANCH.fullmatch(read_small(self.git_dir / "HEAD").decode("utf-8", "replace").strip())
        return found[1] if found and found[1] != ".invalid" else "main"

    @property
    def object_format(self) -> str:
        """The hash of its objects."""
        return "sha256" if _SHA256.search(read_small(self.common_dir / "config")) else "sha1"


def source_of(directory: Path) -> Source | None:
    """Return the repository of a directory; None outside of any. Raises `WorkspaceError` if it cannot be used."""
    if not os.path.isdir(directory):
        missing = f"'{directory}' is not a directory."
        raise WorkspaceError(missing)
    real = directory.resolve()
    for top in (real, *real.parents):
        entry = top / ".git"
        if os.path.isdir(entry) and is_repository(entry):
            return Source(top=top, git_dir=entry, common_dir=_common(entry))
        if os.path.isfile(entry):
            return _linked(top, entry)
        if is_repository(top):
            bare = f"'{top}' is a bare repository, which has no files to work on."
            raise WorkspaceError(bare, "Give a directory with a working tree.")
    return None


def is_repository(directory: Path) -> bool:
    """Return True for a directory that git takes for a repository."""
    has_history = all(os.path.isdir(directory / name) for name in ("objects", "refs"))
    return os.path.isfile(directory / "HEAD") and (has_history or os.path.isfile(directory / "commondir"))


def read_small(file: Path) -> bytes:
    """Return the beginning of a regular file; nothing if there is none."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)  # of a pipe, it does not wait
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(_MAX_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def _linked(top: Path, file: Path) -> Source:
    """Follow the file that stands for `.git` in a linked worktree or a submodule."""
    text = os.fsdecode(read_small(file)).strip()
    git_dir = (top / text.removeprefix("gitdir:").strip()).resolve()
    if not text.startswith("gitdir:") or not is_repository(git_dir):
        broken = f"'{file}' does not lead to a repository."
        raise WorkspaceError(broken, "Mend it with 'git worktree repair', or remove it.")
    return Source(top=top, git_dir=git_dir, common_dir=_common(git_dir))


def _common(git_dir: Path) -> Path:
    text = os.fsdecode(read_small(git_dir / "commondir")).strip()
    return (git_dir / text).resolve() if text else git_dir
