"""Three-way merges of trees, made in objects alone: no working file is read or written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents._records import dataclass
from ohm_subagents.contract.truncation import shortened
from ohm_subagents.contract.workspace import Conflict, Hunk
from ohm_subagents.workspaces.failure import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ohm_subagents.workspaces.view import View

MAX_DETAILED: Final = 20
"""Of so many files in conflict the hunks are told; of the others, the names."""
MAX_HUNKS: Final = 8
"""At most so many hunks of a file are told."""
SIDE_CHARS: Final = 400
"""At most so many characters of each side of a hunk are told."""
_USAGE: Final = 129
"""The exit code of a git that does not know an option."""
_MARKER: Final = 61
"""The length of the lines between hunks: no file has such lines by chance."""
_NO_DATE: Final = "@0 +0000"
_PLAINLY: Final = ("-c", "merge.directoryRenames=false", "-c", "merge.conflictStyle=merge")
_HUNK: Final = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_REASONS: Final[Mapping[tuple[int, ...], str]] = {
    (2, 3): "both have it, with different content",
    (1, 2): "the task has removed it, and it was changed there meanwhile",
    (1, 3): "it was removed there meanwhile, and the task has changed it",
    (1, 2, 3): "both have changed it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    mode: bytes
    oid: str


async def merged(view: View, *, base: str, ours: str, theirs: str) -> str | tuple[Conflict, ...]:
    """Return the tree in which the changes from `base` to `theirs` are made to `ours`, or what stands against that.

    All three are trees. Raises `WorkspaceError` if git is too old.
    """
    root = await _commit(view, base)
    sides = [await _commit(view, tree, "-p", root) for tree in (ours, theirs)]
    output = await view.ended(*_PLAINLY, "merge-tree", "--write-tree", "-z", *sides)
    if output.code == _USAGE:
        old = "The git that is installed is too old to land the work of a task."
        raise WorkspaceError(old, "Install git 2.38 or newer.")
    tree, _, rest = output.stdout.partition(b"\0")
    if output.code == 0:
        return tree.decode()
    stages = _stages(rest.partition(b"\0\0")[0], sides)
    if output.code != 1 or not stages:
        unmerged = f"'git merge-tree' failed in '{view.source.top}'."
        raise WorkspaceError(unmerged)
    return tuple([await _told(view, path, stages[path], n) for n, path in enumerate(sorted(stages))])


async def _commit(view: View, tree: str, *more: str) -> str:
    return (await view.run("commit-tree", tree, *more, "-m", "Landing", date=_NO_DATE)).line


def _stages(told: bytes, sides: list[str]) -> dict[bytes, dict[int, _Stage]]:
    """Read what git says of paths in conflict; one that is in the way of a directory has the commit in its name."""
    found: dict[bytes, dict[int, _Stage]] = {}
    for line in told.split(b"\0"):
        facts, _, path = line.partition(b"\t")
        mode, oid, stage = facts.split(b" ")
        for side in sides:
            path = path.removesuffix(b"~" + side.encode())
        found.setdefault(path, {})[int(stage)] = _Stage(mode=mode, oid=oid.decode())
    return found


async def _told(view: View, path: bytes, stages: dict[int, _Stage], n: int) -> Conflict:
    reason = _REASONS.get(tuple(sorted(stages)), "a file of one is where the other has a directory, or another name")
    hunks: tuple[Hunk, ...] = ()
    are_files = len(stages) > 1 and all(each.mode.startswith(b"100") for each in stages.values())
    if n < MAX_DETAILED and are_files and {2, 3} <= stages.keys():
        hunks = await _hunks(view, stages)
    return Conflict(path=path.decode("utf-8", "backslashreplace"), reason=reason, hunks=hunks)


async def _hunks(view: View, stages: dict[int, _Stage]) -> tuple[Hunk, ...]:
    """Return where two versions of a file meet, by the lines of ours; nothing of files that are not text."""
    place = view.directory / "merging"
    base, ours, theirs = (place / name for name in ("base", "ours", "theirs"))
    await to_thread.run_sync(lambda: place.mkdir(exist_ok=True))
    for stage, file in enumerate((base, ours, theirs), start=1):
        content = (await view.run("cat-file", "blob", stages[stage].oid)).stdout if stage in stages else b""
        await to_thread.run_sync(file.write_bytes, content)
    files = (f"{ours}", f"{base}", f"{theirs}")
    output = await view.ended("merge-file", "-p", "-q", f"--marker-size={_MARKER}", *files)
    if not 0 < output.code < _USAGE:  # the number of hunks; more for what is no text
        return ()
    resolved = place / "resolved"
    kept = await view.ended("merge-file", "-p", "-q", "--ours", *files)
    await to_thread.run_sync(resolved.write_bytes, kept.stdout)
    shifts = await _shifts(view, ours, resolved)
    return tuple(_read(output.stdout, shifts))[:MAX_HUNKS]


async def _shifts(view: View, ours: Path, resolved: Path) -> list[tuple[int, int]]:
    """Return from which line of `resolved` on it is by how many lines ahead of ours."""
    told = await view.ended("diff", "--no-index", "--no-ext-diff", "-U0", f"{ours}", f"{resolved}")
    ends = [
        [int(at) + (int(count or 1) or 1) for at, count in (found[:2], found[2:])]
        for found in _HUNK.findall(told.stdout)
    ]
    return [(after, after - before) for before, after in ends]


def _read(text: bytes, shifts: list[tuple[int, int]]) -> Iterator[Hunk]:
    """Read the hunks of a file with markers."""
    line, side = 1, -1
    sides: tuple[list[bytes], list[bytes]] = ([], [])
    start, middle, end = (mark * _MARKER for mark in (b"<", b"=", b">"))
    for each in text.split(b"\n"):
        if each.startswith(start):
            side = 0
            sides[0].clear()
            sides[1].clear()
        elif side == 0 and each.startswith(middle):
            side = 1
        elif side == 1 and each.startswith(end):
            first = line - max([ahead for at, ahead in shifts if at <= line][-1:], default=0)
            yield Hunk(first=first, last=first + len(sides[0]) - 1, ours=_side(sides[0]), theirs=_side(sides[1]))
            line, side = line + len(sides[0]), -1
        elif side >= 0:
            sides[side].append(each)
        else:
            line += 1


def _side(lines: list[bytes]) -> str:
    return shortened(b"\n".join(lines).decode("utf-8", "replace"), SIDE_CHARS)
