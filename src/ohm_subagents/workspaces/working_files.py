"""The files of a working tree, replaced without following a link, and without losing what somebody else writes."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.workspaces.failure import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_CHUNK: Final = 2**20
_LINK, _EXECUTABLE, _PLAIN = 0o120000, 0o100755, 0o100644


@dataclass(frozen=True, slots=True)
class Version:
    """The content of a path, as git names it."""

    mode: int
    """The kind of file, and whether it may be run."""
    oid: str
    """The name of its content."""


class ChangedMeanwhile(Exception):  # noqa: N818  no error: somebody was faster
    """Somebody else has changed a file that was to be replaced."""

    def __init__(self, path: bytes) -> None:
        super().__init__(path.decode("utf-8", "backslashreplace"))


class WorkingFiles:
    """Reaches each path from the directory at the top, folder by folder; a link on the way is an `OSError`."""

    def __init__(self, top: Path) -> None:
        self._top = top

    @contextmanager
    def folder(self, path: bytes, *, make: bool = False) -> Generator[tuple[int, bytes]]:
        """Hold the folder of a path; gives its descriptor, and the name in it."""
        *folders, name = _parts(path)
        here = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for folder in folders:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=here)
                below = os.open(folder, _FOLDER, dir_fd=here)
                os.close(here)
                here = below
            yield here, name
        finally:
            os.close(here)

    def status(self, path: bytes) -> os.stat_result | None:
        """Return what is at a path; None for nothing. Raises `OSError` if something on the way is no folder."""
        try:
            with self.folder(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def move_out(self, path: bytes, aside: Path) -> None:
        """Move a file out of the tree."""
        aside.parent.mkdir(parents=True, exist_ok=True)
        with self.folder(path) as (folder, name):
            os.rename(name, aside, src_dir_fd=folder)

    def put(self, file: Path, path: bytes) -> None:
        """Put a file in, which may stay where it was, too. Raises `FileExistsError` rather than replace one."""
        with self.folder(path, make=True) as (folder, name):
            try:
                os.link(file, name, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                if not os.path.samestat(file.lstat(), os.stat(name, dir_fd=folder, follow_symlinks=False)):
                    raise
            except OSError as error:  # a file system without hard links
                if error.errno not in _NO_LINKS or self.status(path) is not None:
                    raise
                os.rename(file, name, dst_dir_fd=folder)

    def unlink(self, path: bytes) -> None:
        """Remove a file."""
        with self.folder(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def make_folder(self, path: bytes, mode: int) -> None:
        """Make a folder, unless it is there."""
        with suppress(FileExistsError), self.folder(path, make=True) as (folder, name):
            os.mkdir(name, dir_fd=folder)
            os.chmod(name, mode, dir_fd=folder)

    def remove_folder(self, path: bytes) -> None:
        """Remove an empty folder."""
        with self.folder(path) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def below(self, path: bytes) -> tuple[list[bytes], list[bytes]]:
        """Return all folders below a folder, and it itself first, and everything else there."""
        folders, others = [path], list[bytes]()
        for folder in folders:
            with self.folder(folder + b"/.here") as (descriptor, _), os.scandir(descriptor) as entries:
                for entry in entries:
                    inside = folder + b"/" + os.fsencode(entry.name)
                    (folders if entry.is_dir(follow_symlinks=False) else others).append(inside)
        return folders, others


def ancestors(path: bytes) -> list[bytes]:
    """Return the folders above a path, the highest first."""
    parts = path.split(b"/")
    return [b"/".join(parts[:n]) for n in range(1, len(parts))]


def version_of(file: Path, *, sha256: bool = False) -> Version | None:
    """Return the content of a file or a link; None for anything else."""
    status = file.lstat()
    if stat.S_ISLNK(status.st_mode):
        return Version(_LINK, _oid([os.fsencode(file.readlink())], status.st_size, sha256=sha256))
    if not stat.S_ISREG(status.st_mode):
        return None
    mode = _EXECUTABLE if status.st_mode & stat.S_IXUSR else _PLAIN
    with file.open("rb") as opened:
        return Version(mode, _oid(iter(lambda: opened.read(_CHUNK), b""), status.st_size, sha256=sha256))


def is_version(file: Path, version: Version) -> bool:
    """Return True for a file, or a link, that has this content."""
    return version_of(file, sha256=len(version.oid) == hashlib.sha256().digest_size * 2) == version


def give_rights(file: Path, before: int) -> None:
    """Give a new file the rights of the one that it replaces, less or more that it may be run."""
    now = file.lstat().st_mode
    if not (stat.S_ISREG(now) and stat.S_ISREG(before)):
        return
    rights = stat.S_IMODE(before) & 0o777
    runs = (rights & 0o444) >> 2
    file.chmod(rights | runs if now & stat.S_IXUSR else rights & ~0o111)


def _oid(chunks: Iterable[bytes], size: int, *, sha256: bool) -> str:
    digest = hashlib.sha256() if sha256 else hashlib.sha1()  # noqa: S324  git's own
    digest.update(b"blob %d\0" % size)
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def _parts(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    if any(part in {b"", b".", b".."} or part.lower() == b".git" for part in parts):
        name = path.decode("utf-8", "backslashreplace")
        refused = f"The work has a file '{name}', which cannot be one of a repository."
        raise WorkspaceError(refused)
    return parts
