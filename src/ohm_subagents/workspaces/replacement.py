"""The replacement of files in a working tree: all of them or none, also where the process is killed in the middle.

A directory beside the tree has the `new` files, the `old` ones as they are taken out, and a journal that is there as
long as the tree is neither as before nor as after. Whoever finds it can take everything back.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.contract.workspace import Conflict
from ohm_subagents.workspaces.places import remove
from ohm_subagents.workspaces.working_files import (
    ChangedMeanwhile,
    Version,
    WorkingFiles,
    ancestors,
    give_rights,
    is_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

JOURNAL: Final = "journal"
_OTHERWISE: Final = {errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.ELOOP}
_IGNORED: Final = "something that git does not list is in its place"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of one path."""

    path: bytes
    """The path, from the top."""
    old: Version | None
    """The content that is replaced; None for none."""
    new: Version | None
    """The content that replaces it; None for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """The reference that says that a replacement is complete, once it has this commit."""

    ref: str
    """Its name."""
    commit: str
    """The id of the commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folders:
    """Folders that a replacement makes, and those that it removes because a file takes their place."""

    made: list[bytes]
    removed: list[tuple[bytes, int]]


class Replacement:
    """Makes changes to a working tree, by way of a directory `place` that is on the same file system.

    The new files are in `place / "new"` when it begins. `step` is called with the name of each step: a test may end
    the process there.
    """

    def __init__(self, top: Path, place: Path, changes: Sequence[Change], *, step: Callable[[str], None]) -> None:
        self._files = WorkingFiles(top)
        self._top, self._place, self._changes, self._step = top, place, changes, step

    def obstacles(self) -> Iterator[Conflict]:
        """Yield what is in the way: no file that git does not list is replaced, nor one where a link leads."""
        leaving = {change.path for change in self._changes if change.old is not None}
        for change in self._changes:
            reason = self._obstacle(change, leaving)
            if reason:
                yield Conflict(path=change.path.decode("utf-8", "backslashreplace"), reason=reason)

    def _obstacle(self, change: Change, leaving: set[bytes]) -> str:
        if not leaving.isdisjoint(ancestors(change.path)):
            return ""  # a file of ours becomes a folder: nothing is below it
        try:
            found = self._files.status(change.path)
        except OSError:
            return _IGNORED
        if change.old is not None:
            return "it is not among the files that are checked out" if found is None else ""
        if found is None:
            return ""
        if not stat.S_ISDIR(found.st_mode):
            return _IGNORED
        return "" if leaving.issuperset(self._files.below(change.path)[1]) else _IGNORED

    def make(self, landed: Landed) -> None:
        """Make all changes, or none if that fails: `ChangedMeanwhile` where somebody was faster, or `OSError`.

        The journal stays, with what tells that they are complete, until `forget` or `take_back`.
        """
        for change in self._changes:
            if change.old is not None and change.new is not None:
                before = self._files.status(change.path)
                give_rights(self._new(change.path), 0 if before is None else before.st_mode)
        folders = self._folders()
        self._write_journal(landed, folders)
        try:
            self._step("journal written")
            self._replace(folders)
        except BaseException:
            take_back(self._top, self._place)
            raise

    def _replace(self, folders: _Folders) -> None:
        taken: list[tuple[bytes, Path, int]] = []
        for change in self._changes:
            if change.old is not None:
                old = self._place / "old" / os.fsdecode(change.path)
                with _seen(change.path):
                    self._files.move_out(change.path, old)
                self._step("file taken out")
                if not is_version(old, change.old):
                    raise ChangedMeanwhile(change.path)
                taken.append((change.path, old, old.lstat().st_mtime_ns))
        for folder, _ in reversed(folders.removed):
            with _seen(folder):
                self._files.remove_folder(folder)
            self._step("folder removed")
        for change in self._changes:
            if change.new is not None:
                with _seen(change.path):
                    self._files.put(self._new(change.path), change.path)
                self._step("file put in")
        for path, old, mtime_ns in taken:  # by a program that had opened it before
            if old.lstat().st_mtime_ns != mtime_ns:
                raise ChangedMeanwhile(path)

    def _new(self, path: bytes) -> Path:
        return self._place / "new" / os.fsdecode(path)

    def _folders(self) -> _Folders:
        made, removed = list[bytes](), list[tuple[bytes, int]]()
        for change in self._changes:
            if change.new is None:
                continue
            made += [folder for folder in ancestors(change.path) if folder not in made and self._is_missing(folder)]
            found = None if self._is_missing(change.path) else self._files.status(change.path)
            if found is not None and stat.S_ISDIR(found.st_mode):
                for folder in self._files.below(change.path)[0]:
                    status = self._files.status(folder)
                    removed.append((folder, stat.S_IMODE(status.st_mode) if status else 0o755))
        return _Folders(made=made, removed=removed)

    def _is_missing(self, folder: bytes) -> bool:
        """Return True where no folder is: what else is there leaves."""
        try:
            found = self._files.status(folder)
        except NotADirectoryError:
            return True
        return found is None or not stat.S_ISDIR(found.st_mode)

    def _write_journal(self, landed: Landed, folders: _Folders) -> None:
        written = {
            "ref": landed.ref,
            "commit": landed.commit,
            "changes": [
                {"path": os.fsdecode(change.path), "new": _identity(self._new(change.path)) if change.new else None}
                for change in self._changes
            ],
            "made": [*map(os.fsdecode, folders.made)],
            "removed": [(os.fsdecode(folder), mode) for folder, mode in folders.removed],
        }
        draft = self._place / "draft"
        with draft.open("w") as opened:
            opened.write(json.dumps(written))
            opened.flush()
            os.fsync(opened.fileno())
        draft.rename(self._place / JOURNAL)

    def tidy(self) -> None:
        """Remove the folders that the changes have left empty."""
        gone = {folder for change in self._changes if change.new is None for folder in ancestors(change.path)}
        for folder in sorted(gone, reverse=True):
            with suppress(OSError):
                self._files.remove_folder(folder)


def journal_of(place: Path) -> Landed | None:
    """Return what an interrupted replacement is about; None where nothing has been replaced."""
    try:
        journal = json.loads((place / JOURNAL).read_text())
    except FileNotFoundError:
        return None
    return Landed(ref=journal["ref"], commit=journal["commit"])


def take_back(top: Path, place: Path) -> None:
    """Restore what an interrupted replacement has changed. What somebody has made there since then stays."""
    journal = json.loads((place / JOURNAL).read_text())
    files = WorkingFiles(top)
    changes = [(os.fsencode(each["path"]), each["new"]) for each in journal["changes"]]
    for path, new in changes:
        with suppress(OSError):
            found = files.status(path)
            if found is not None and new == [found.st_dev, found.st_ino]:
                files.unlink(path)
    for folder in sorted(map(os.fsencode, journal["made"]), reverse=True):
        with suppress(OSError):
            files.remove_folder(folder)
    for folder, mode in journal["removed"]:
        files.make_folder(os.fsencode(folder), mode)
    for path, _ in changes:
        old = place / "old" / os.fsdecode(path)
        if os.path.lexists(old):
            try:
                files.put(old, path)
            except OSError:
                files.put(old, path + b".before-landing")
    forget(place)


def forget(place: Path) -> None:
    """Remove the directory of a replacement, the journal first: from then on nothing is taken back."""
    (place / JOURNAL).unlink(missing_ok=True)
    remove(place)


@contextmanager
def _seen(path: bytes) -> Generator[None]:
    """Take it for a change by somebody else if something is not there as it was found before."""
    try:
        yield
    except OSError as error:
        if error.errno in _OTHERWISE:
            raise ChangedMeanwhile(path) from None
        raise


def _identity(file: Path) -> list[int]:
    status = file.lstat()
    return [status.st_dev, status.st_ino]
