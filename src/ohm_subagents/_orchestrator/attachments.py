"""Files that stand before a prompt, as blocks of text (000, Files Parameter)."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents._config.regular_file import MAX_BYTES, read_regular

if TYPE_CHECKING:
    from ohm_subagents.contract.agent import Attachment


def block(wanted: Attachment, cwd: Path, *, is_confined: bool) -> str:
    """The lines of a file under its path as it was given, or why there are none. Reads, so call it in a thread.

    A path is relative to `cwd`. With `is_confined`, one that leads out of it is not even looked at.
    """
    try:
        path = Path(cwd, wanted.path)
        if is_confined and not _is_within(path, cwd):
            return f"[access denied: path outside project directory: {wanted.path}]"
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return _unreadable(wanted)
        if found.st_size > MAX_BYTES:
            return f"[file too large: {wanted.path} ({_kib(found.st_size)}KB, limit {_kib(MAX_BYTES)}KB)]"
        text = read_regular(path).decode()
    except (FileNotFoundError, NotADirectoryError):
        return f"[file not found: {wanted.path}]"
    except (OSError, ValueError):  # the latter for bytes that are no UTF-8, and for what can be no path
        return _unreadable(wanted)
    return f"=== {wanted.path} ===\n{_chosen(text, wanted)}"


def _unreadable(wanted: Attachment) -> str:
    return f"[could not read file: {wanted.path}]"


def _is_within(path: Path, cwd: Path) -> bool:
    """Links followed. A real path is followed once more: behind a loop of links, one may be left in it."""
    real = os.path.realpath(path)
    return real == os.path.realpath(real) and Path(real).is_relative_to(os.path.realpath(cwd))


def _kib(size: int) -> int:
    """Rounded, a half upwards."""
    return (size + 512) // 1024


def _chosen(text: str, wanted: Attachment) -> str:
    """Lines end with LF and with nothing else; after the last one there is no empty one."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    first, last = wanted.start or 1, len(lines) if wanted.end is None else wanted.end
    if wanted.head is not None:
        first, last = 1, wanted.head
    elif wanted.tail is not None:
        first, last = len(lines) - max(wanted.tail, 0) + 1, len(lines)
    return "\n".join(lines[max(first, 1) - 1 : max(last, 0)])
