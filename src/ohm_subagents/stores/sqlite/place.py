"""The directory of a store: the kind of its file system, its file names, and the files of damaged tasks."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.store import Notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.stores.sqlite.stored import StoredTask

MOUNTS: Final = Path("/proc/self/mountinfo")
_NETWORK: Final = re.compile(
    r"nfs\d*|smb\w*|cifs|9p|afs|ceph|lustre|glusterfs|ncpfs|davfs\d*|vboxsf|drvfs|prl_fs|"
    r"fuse\.(sshfs|gluster\w*|ceph\w*|davfs\d*|rclone|s3fs|gcsfuse|smb\w*|vmhgfs\S*)"
)
_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


def network_file_system(path: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the kind of network file system that holds `path`; None for a local one, or where it is unknown."""
    try:
        text = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    path = path.resolve()
    found: tuple[int, str] = (-1, "")
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = Path(_ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        if path.is_relative_to(point) and len(point.parts) >= found[0]:  # a later mount hides an earlier one
            found = (len(point.parts), after.split()[0])
    return found[1] if _NETWORK.fullmatch(found[1]) else None


def make_private(directory: Path) -> None:
    """Make the directory, for its owner alone, unless it is there; raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def touch_private(file: Path) -> None:
    """Make the file, for its owner alone, unless it is there; raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def damage_mark(file: Path) -> Path:
    """Return the empty file that marks a database as damaged: the next process that opens it alone makes it anew."""
    return file.with_name(f"{file.name}.damaged")


def mark_damaged(file: Path) -> None:
    """Mark a database as damaged, where that is possible."""
    with suppress(OSError):
        touch_private(damage_mark(file))


class FileNotes(Notes):
    """Messages for the user about a file of tasks."""

    def __init__(self, file: Path) -> None:
        super().__init__(str(file))
        self._file = file

    def mark_damaged(self) -> None:
        """Let the next process that opens the file alone make it anew."""
        mark_damaged(self._file)


def file_name(task_id: str) -> str:
    """Return a name for the file of a task, whatever its id looks like."""
    if _PLAIN.fullmatch(task_id):
        return task_id
    return f"={hashlib.sha256(task_id.encode(errors='replace')).hexdigest()[:32]}"


class Fixed:
    """A file that must stay where it is while it is open: what is written to one that is unlinked is lost."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)  # asked with every write
        self._identity = self._now()

    def check(self) -> None:
        """Raise OSError if it was removed, or replaced by another."""
        if self._now() != self._identity:
            moved = f"'{self._path}' was removed or replaced while it was open"
            raise OSError(moved)

    def _now(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116  a Path is made anew each time
        except OSError:
            return None
        return found.st_dev, found.st_ino


class Asides:
    """Files in a directory beside the database, one a damaged task."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def file(self, task_id: str) -> Path:
        """Return where the damaged task of this id is kept."""
        return self._directory / f"{file_name(str(task_id))}.damaged.json"

    def put(self, stored: StoredTask) -> Path:
        """Keep all that there is of a damaged task; raises OSError."""
        columns = {
            **stored.row._asdict(),
            "chunks": [chunk._asdict() for chunk in stored.chunks],
            "state": stored.state,
        }
        return self.put_columns(stored.row.id, columns)

    def put_columns(self, task_id: str, columns: Mapping[str, object]) -> Path:
        """Keep the columns of a damaged row, with bytes that are no text as surrogates; raises OSError."""
        file = self.file(task_id)
        make_private(self._directory)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as stream:  # noqa: PTH123  made private at once
            json.dump(columns, stream, indent=2, default=_legible)
        return file


def _legible(value: object) -> object:
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else repr(value)
