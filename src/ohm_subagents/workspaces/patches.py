"""Patches between trees that are kept without git, in the form that `git apply` and `patch` take."""

from __future__ import annotations

from difflib import diff_bytes, unified_diff
from typing import TYPE_CHECKING, Final

from ohm_subagents.workspaces.depot import differing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.workspaces.depot import Depot, Manifest
    from ohm_subagents.workspaces.working_files import Version

_BINARY_WITHIN: Final = 8000
_NO_NEWLINE: Final = b"\n\\ No newline at end of file\n"


def patch(depot: Depot, old: Manifest, new: Manifest) -> bytes:
    """Return what makes one tree of another; of a file that is not text, that it differs."""
    return b"".join(b"".join(_of_file(depot, path, old.get(path), new.get(path))) for path in differing(old, new))


def counted(depot: Depot, old: Manifest, new: Manifest) -> tuple[int, int]:
    """Return the numbers of lines that are added and removed."""
    added = removed = 0
    for path in differing(old, new):
        lines = [*_hunks(depot, path, old.get(path), new.get(path))][2:]
        added += sum(line.startswith(b"+") for line in lines)
        removed += sum(line.startswith(b"-") for line in lines)
    return added, removed


def _of_file(depot: Depot, path: bytes, old: Version | None, new: Version | None) -> Iterator[bytes]:
    yield b"diff --git a/%s b/%s\n" % (path, path)
    if old is None and new is not None:
        yield b"new file mode %o\n" % new.mode
    elif new is None and old is not None:
        yield b"deleted file mode %o\n" % old.mode
    elif old is not None and new is not None and old.mode != new.mode:
        yield b"old mode %o\nnew mode %o\n" % (old.mode, new.mode)
    if _is_binary(depot, old) or _is_binary(depot, new):
        yield b"Binary files a/%s and b/%s differ\n" % (path, path)
        return
    for line in _hunks(depot, path, old, new):
        yield line if line.endswith(b"\n") else line + _NO_NEWLINE


def _hunks(depot: Depot, path: bytes, old: Version | None, new: Version | None) -> Iterator[bytes]:
    if _is_binary(depot, old) or _is_binary(depot, new):
        return
    before, after = (_lines(depot.content(one)) for one in (old, new))
    names = (b"/dev/null" if old is None else b"a/" + path, b"/dev/null" if new is None else b"b/" + path)
    yield from diff_bytes(unified_diff, before, after, *names)


def _lines(content: bytes) -> list[bytes]:
    return [line + b"\n" for line in content.split(b"\n")[:-1]] + [one for one in [content.rpartition(b"\n")[2]] if one]


def _is_binary(depot: Depot, version: Version | None) -> bool:
    return b"\0" in depot.content(version)[:_BINARY_WITHIN]
