"""Tree search in plain Python, for machines without ripgrep: the same files in the same order."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from anyio import from_thread, to_thread

from ohm_subagents._backends.in_process.tools.excerpt import clip
from ohm_subagents._backends.in_process.tools.failure import fail
from ohm_subagents._backends.in_process.tools.globs import Wanted
from ohm_subagents._backends.in_process.tools.ignore_rules import IgnoreRules
from ohm_subagents._backends.in_process.tools.place import printable
from ohm_subagents._backends.in_process.tools.text_file import decode, raw_lines
from ohm_subagents._backends.in_process.tools.tree import LINE_CHARS, WITHOUT_RIPGREP, Files, Hits, Line, Query

_BINARY_PROBE_BYTES = 65_536
_OPERATORS = re.compile(r"[\\.^$*+?()\[\]{}|]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Reads the tree in a worker thread, which stops soon after its call was cancelled.

    It takes plain text only: Python's regular expressions can take for ever and cannot be interrupted.
    """

    note: str = f"[{WITHOUT_RIPGREP}]"

    async def files(self, root: Path, start: str, wanted: Wanted, limit: int) -> Files:
        return await to_thread.run_sync(_files, root, start, wanted, limit, abandon_on_cancel=True)

    async def grep(self, root: Path, start: str, query: Query, wanted: Wanted, limit: int) -> Hits:
        if not query.literal and _OPERATORS.search(query.pattern):
            fail(
                f'The pattern "{clip(query.pattern, LINE_CHARS)}" needs ripgrep, which was not found; '
                "set literal to search it as text, or search for a plain word."
            )
        return await to_thread.run_sync(_grep, root, start, query, wanted, limit, abandon_on_cancel=True)


def _files(root: Path, start: str, wanted: Wanted, limit: int) -> Files:
    tree = _Tree(root)
    files = Files(limit=limit)
    for path in map(printable, tree.files(start)):
        if wanted(path):
            files.add(path)
    files.unread = tree.unread
    return files


def _grep(root: Path, start: str, query: Query, wanted: Wanted, limit: int) -> Hits:
    tree = _Tree(root)
    hits = Hits(limit=limit, context=query.context)
    for path in tree.files(start):
        shown = printable(path)
        if wanted(shown) and not all(hits.add(line) for line in tree.matches(path, query)):
            break
    hits.unread = tree.unread
    return hits


@dataclass(slots=True)
class _Tree:
    """The files below a root, and whether something there could not be read."""

    root: Path
    unread: bool = field(default=False)

    def files(self, start: str) -> Iterator[str]:
        """Regular files in order of path, relative to the root; `start` itself is taken whatever it is called."""
        first = self.root / start
        if first.is_file():
            yield start
            return
        rules = IgnoreRules.above(first)
        if rules.hides(first, is_dir=True):  # a start named on purpose is not hidden by rules from above it
            rules = IgnoreRules()
        yield from self._below(first, rules)

    def _below(self, directory: Path, rules: IgnoreRules) -> Iterator[str]:
        from_thread.check_cancelled()
        try:
            with os.scandir(directory) as scan:
                entries = sorted(scan, key=lambda entry: os.fsencode(entry.name))
        except OSError:
            self.unread = True
            return
        inner = rules.entering(directory)
        for entry in entries:
            from_thread.check_cancelled()
            is_dir = entry.is_dir(follow_symlinks=False)
            if entry.name.startswith(".") or inner.hides(Path(entry.path), is_dir=is_dir):
                continue
            if is_dir:
                yield from self._below(Path(entry.path), inner)
            elif entry.is_file(follow_symlinks=False):
                yield os.path.relpath(entry.path, self.root)

    def matches(self, path: str, query: Query) -> Iterator[Line]:
        """The matching lines of a file with their context, each line once."""
        fold = str.lower if query.ignore_case else str
        sought = fold(query.pattern)
        try:
            file = (self.root / path).open("rb")
        except OSError:
            self.unread = True
            return
        shown = printable(path)
        with file:
            if b"\0" in file.peek(_BINARY_PROBE_BYTES):
                return
            before: list[Line] = []
            after = 0
            for number, raw in enumerate(raw_lines(file), start=1):
                text = decode(raw)
                if sought in fold(text):
                    yield from before
                    before = []
                    after = query.context
                    yield Line(path=shown, number=number, text=text, is_match=True)
                elif after:
                    after -= 1
                    yield Line(path=shown, number=number, text=text, is_match=False)
                elif query.context:
                    before = [*before, Line(path=shown, number=number, text=text, is_match=False)][-query.context :]
