"""The directory of the indexes: for their owner alone, bounded, and one builder of an index at a time."""

import fcntl
import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ohm_subagents.backends.in_process.search.code_index.database import FORMAT

MAX_BYTES: Final = 512_000_000
"""Of all indexes together; those that were asked longest ago go first."""
_INDEX: Final = ".sqlite"
_LOCK: Final = ".lock"
_JOURNAL: Final = "-journal"


def made_private(directory: Path) -> Path:
    """Return the directory, made if need be; an `OSError` where it cannot be for its owner alone.

    Nobody else may put another one in its place either, so the directory above has to be this user's too.
    """
    for each, forbidden in ((directory.parent, 0o022), (directory, 0o077)):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = each.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            other = f"'{each}' is not a directory of this user"
            raise PermissionError(other)
        mode = stat.S_IMODE(status.st_mode)
        if mode & forbidden:
            each.chmod(mode & ~forbidden)
    return directory


def index_file(directory: Path, root: Path) -> Path:
    """Find the file of a tree's index; make it, empty, if there is no file of this user."""
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
    file = made_private(directory) / f"{name}-{FORMAT}{_INDEX}"
    with suppress(FileNotFoundError):
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            discard(file)
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return file


@contextmanager
def locked(file: Path, *, waits: bool = True) -> Generator[None]:
    """Be the only builder of an index, in all processes; wait for another one, or raise a `BlockingIOError`.

    The file of a lock stays for good: a waiter for one that is gone would not be alone.
    """
    handle = os.open(file.with_suffix(_LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


def discard(file: Path) -> None:
    """Throw an index away, whatever it is."""
    for part in (file.with_name(f"{file.name}{_JOURNAL}"), file):  # a journal would be played into the next one
        part.unlink(missing_ok=True)


def prune(directory: Path, kept: Path, limit: int | None = None) -> None:
    """Throw away what was used longest ago until all indexes together have at most `limit` bytes.

    An index that is being written is in use.
    """
    limit = MAX_BYTES if limit is None else limit
    found: list[tuple[int, int, Path]] = []
    for file in directory.glob(f"*{_INDEX}"):
        with suppress(OSError):
            status = file.stat()
            found.append((status.st_mtime_ns, status.st_size, file))
    total = sum(size for _, size, _ in found)
    for _, size, file in sorted(found):
        if total <= limit:
            return
        if file == kept:
            continue
        with suppress(OSError), locked(file, waits=False):
            discard(file)
            total -= size
