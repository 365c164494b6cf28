"""The files of a directory tree, and the lines in them: what grep, find and code_search need."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyio import to_thread

from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.globs import Wanted
from ohm_subagents.backends.in_process.tools.hits import Files, Gaps, Hits, Query
from ohm_subagents.backends.in_process.tools.place import printable
from ohm_subagents.backends.in_process.tools.ripgrep import Ripgrep
from ohm_subagents.backends.in_process.tools.walk import Walk

_PORTION_BYTES: Final = min(500_000, os.sysconf("SC_ARG_MAX") // 4)  # of the arguments of one command
_POINTER_BYTES: Final = 12  # and what else an argument takes


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSearch:
    """Lists and searches the files below a start, in order of path, relative to the root.

    Hidden and ignored files, links and binary files are left out, unless the start itself names them. Which files
    there are is found out here and not by ripgrep: it would follow a directory that becomes a link meanwhile, and read
    ignore files without a limit.
    """

    ripgrep: Ripgrep | None

    async def files(self, root: Path, start: str, wanted: Wanted, limit: int) -> Files:
        """Return the wanted files. `wanted` is called in a worker thread."""
        return await to_thread.run_sync(_files, root, start, wanted, limit, abandon_on_cancel=True)

    async def grep(self, root: Path, start: str, query: Query, wanted: Wanted, limit: int) -> Hits:
        """Return the matching lines of the wanted files; fails without ripgrep."""
        if self.ripgrep is None:
            fail("grep does not work here, for ripgrep was not found; use find, code_search and read.")
        walk, hits = Walk(root=root, start=start), Hits(limit=limit, context=query.context)
        paths = (path for path in walk.files() if wanted(printable(path)))
        is_first = goes_on = True
        while goes_on:
            portion = await to_thread.run_sync(_portion, paths, abandon_on_cancel=True)
            if portion or is_first:  # even without a file, so that a wrong pattern is an error
                goes_on = await self.ripgrep.match(root, portion, query, hits)
            is_first, goes_on = False, goes_on and bool(portion)
        hits.gaps.unread |= walk.unread
        hits.gaps.refused += walk.refused
        return hits


def _files(root: Path, start: str, wanted: Wanted, limit: int) -> Files:
    walk, files = Walk(root=root, start=start), Files(limit=limit)
    with closing(walk.files()) as paths:
        for path in paths:
            if wanted(printable(path)):
                files.add(printable(path))
    files.is_visible, files.gaps = walk.is_visible, Gaps(unread=walk.unread, refused=walk.refused)
    return files


def _portion(paths: Iterator[str]) -> list[str]:
    """Return the next files, as many as one command takes."""
    portion: list[str] = []
    size = 0
    for path in paths:
        portion.append(path)
        size += len(os.fsencode(path)) + _POINTER_BYTES
        if size > _PORTION_BYTES:
            break
    return portion
