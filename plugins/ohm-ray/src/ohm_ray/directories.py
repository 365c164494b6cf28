"""The directory of a `local` cluster. Those of programs that were killed are swept when the next one is made."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

PARENT: Final = Path("/tmp")  # noqa: S108  short: the path of a socket has 107 characters
PREFIX: Final = "ohm-ray-"
LOCK: Final = "owner.lock"


class Directory:
    """A directory that is ours as long as this process holds a lock on a file in it."""

    def __init__(self, parent: Path = PARENT) -> None:
        """Make it in `parent`, and remove those there whose processes are gone."""
        _sweep(parent)
        self.path = Path(mkdtemp(prefix=PREFIX, dir=parent))
        file = self.path / "new.lock"
        self._lock = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        file.rename(self.path / LOCK)  # so nobody finds it before it is held

    def remove(self) -> None:
        """Remove it with all that is in it."""
        rmtree(self.path, ignore_errors=True)
        self.leave()

    def leave(self) -> None:
        """Let go of it, as the end of this process does."""
        os.close(self._lock)


def _sweep(parent: Path) -> None:
    for file in parent.glob(f"{PREFIX}*/{LOCK}"):
        try:
            lock = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # it is gone by now, or another user's
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            rmtree(file.parent, ignore_errors=True)
        except OSError:
            pass  # its program goes on
        finally:
            os.close(lock)
