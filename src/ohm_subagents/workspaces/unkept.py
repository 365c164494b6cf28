"""Work that cannot be kept where it belongs: it is left where nobody removes it, and the error names the place."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from ohm_subagents.workspaces.failure import WorkspaceError, error_of
from ohm_subagents.workspaces.work import REFS, ref_of

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.contract.errors import OhmError

_FOLDER: Final = "unkept"


def saved(root: Path, task: str, bundle: bytes, why: Exception) -> OhmError:
    """Save a bundle, and return the error with its name."""
    file = root / _FOLDER / f"{_name_of(task)}-{sha256(bundle).hexdigest()[:8]}.bundle"
    try:
        _make(file.parent)
        file.write_bytes(bundle)
    except OSError as error:
        return WorkspaceError(f"{error_of(why).message} It cannot be saved either: {error.strerror}.").error
    return replace(error_of(why), advice=f"The work is saved: git fetch '{file}' HEAD")


def set_aside(root: Path, task: str, top: Path, why: OhmError) -> OhmError:
    """Move a clone away whose work cannot be told, and return the error with its name."""
    left = root / _FOLDER / f"{_name_of(task)}-{token_hex(4)}"
    try:
        _make(left.parent)
        top.rename(left)
    except OSError as error:
        return WorkspaceError(f"{why.message} Its files cannot be left either: {error.strerror}.").error
    return replace(why, advice=f"The files are left in '{left}'.")


def _make(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def _name_of(task: str) -> str:
    return ref_of(task).removeprefix(REFS)
