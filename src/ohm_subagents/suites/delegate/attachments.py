"""Files that precede a prompt, as blocks of text."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.files import MAX_BYTES, read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents.contract.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file, or lines of it, that precede a prompt. Lines count from 1; both ends are included.

    Fields:
        path: absolute, or relative to the directory of the task.
        start, end: the first and the last line; None for those of the file.
        head, tail: so many lines from the beginning or from the end, in place of a range.
    """

    path: str
    start: int | None = None
    end: int | None = None
    head: int | None = None
    tail: int | None = None


def preface(
    files: Iterable[Attachment], context: str, cwd: Path, *, is_confined: bool, left_out: Callable[[str], None]
) -> str:
    """Return the blocks of the files, then the context. Reads files, so call it in a thread.

    A file that cannot be had is one line in brackets, and `left_out` is called with the reason.
    """
    blocks: list[str] = []
    for wanted in files:
        match block(wanted, cwd, is_confined=is_confined):
            case Ok(text):
                blocks.append(text)
            case Err(why):
                blocks.append(f"[{why}]")
                left_out(why)
    return "\n\n".join(part for part in (*blocks, context) if part)


def block(wanted: Attachment, cwd: Path, *, is_confined: bool) -> Result[str, str]:
    """Return the lines of a file below its path as given, or why there are none.

    With `is_confined`, a file outside of `cwd` is not read.
    """
    try:
        path = Path(cwd, wanted.path)
        if is_confined and not _is_within(path, cwd):
            return Err(f"access denied: path outside project directory: {wanted.path}")
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return _unreadable(wanted)
        if found.st_size > MAX_BYTES:
            return Err(f"file too large: {wanted.path} ({_kib(found.st_size)}KB, limit {_kib(MAX_BYTES)}KB)")
        text = read_regular(path).decode()
    except (FileNotFoundError, NotADirectoryError):
        return Err(f"file not found: {wanted.path}")
    except (OSError, ValueError):  # the latter for bytes that are no UTF-8, and for what can be no path
        return _unreadable(wanted)
    return Ok(f"=== {wanted.path} ===\n{_chosen(text, wanted)}")


def _unreadable(wanted: Attachment) -> Result[str, str]:
    return Err(f"could not read file: {wanted.path}")


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
