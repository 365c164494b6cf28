"""The results of a search of a tree, with the gaps that it left."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from ohm_subagents.backends.in_process.tools.excerpt import clip
from ohm_subagents.backends.in_process.tools.ignore_rules import MAX_BYTES
from ohm_subagents.backends.in_process.tools.place import printable

UNREAD: Final = "[Some files or directories could not be read and are not part of this result]"
LINE_CHARS: Final = 300
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search in files: for a regular expression or, if `literal`, for a plain string."""

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
    """The gaps of a result: `unread`, some place could not be read; `refused`, ignore files without effect."""

    unread: bool = False
    refused: list[str] = field(default_factory=list[str])

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each kind."""
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
