"""Tree search in plain Python, for machines without ripgrep: the same files in the same order."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from anyio import from_thread, to_thread
from pathspec import GitIgnoreSpec

from ohm_subagents._backends.in_process.tools.failure import fail
from ohm_subagents._backends.in_process.tools.globs import Wanted
from ohm_subagents._backends.in_process.tools.place import printable
from ohm_subagents._backends.in_process.tools.text_file import decode, raw_lines
from ohm_subagents._backends.in_process.tools.tree import WITHOUT_RIPGREP, Hits, Line, Query

_BINARY_PROBE_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Reads the tree in a worker thread, which stops soon after its call was cancelled."""

    note: str = f"[{WITHOUT_RIPGREP}]"

    async def files(self, root: Path, start: str) -> list[str]:
        return await to_thread.run_sync(
            lambda: [printable(path) for path in _files(root, start)], abandon_on_cancel=True
        )

    async def grep(self, root: Path, start: str, query: Query, wanted: Wanted, limit: int) -> Hits:
        return await to_thread.run_sync(lambda: _grep(root, start, query, wanted, limit), abandon_on_cancel=True)


def _grep(root: Path, start: str, query: Query, wanted: Wanted, limit: int) -> Hits:
    try:
        pattern = re.compile(
            re.escape(query.pattern) if query.literal else query.pattern, re.IGNORECASE if query.ignore_case else 0
        )
    except re.error as error:
        fail(
            f'The pattern "{query.pattern}" is not a valid regular expression: {error.msg}; '
            "set literal to search it as text.",
            error,
        )
    hits = Hits(limit=limit, context=query.context)
    for path in _files(root, start):
        shown = printable(path)
        if wanted(shown) and not all(hits.add(line) for line in _matches(root / path, shown, pattern, query.context)):
            break
    return hits


def _matches(file_path: Path, path: str, pattern: re.Pattern[str], context: int) -> Iterator[Line]:
    """The matching lines of a file with their context, each line once."""
    try:
        file = file_path.open("rb")
    except OSError:
        return  # unreadable files are passed over, as ripgrep does without messages
    with file:
        if b"\0" in file.peek(_BINARY_PROBE_BYTES):
            return
        before: list[Line] = []
        after = 0
        for number, raw in enumerate(raw_lines(file), start=1):
            text = decode(raw)
            if pattern.search(text):
                yield from before
                before = []
                after = context
                yield Line(path=path, number=number, text=text, is_match=True)
            elif after:
                after -= 1
                yield Line(path=path, number=number, text=text, is_match=False)
            elif context:
                before = [*before, Line(path=path, number=number, text=text, is_match=False)][-context:]


def _files(root: Path, start: str) -> Iterator[str]:
    """Regular files in order of path, relative to `root`; `start` itself is taken whatever it is called."""
    first = root / start
    if first.is_file():
        yield start
        return
    ignored = _Ignored.above(first)
    if ignored.hides(first, is_dir=True):  # a start named on purpose is not hidden by rules from above it
        ignored = _Ignored()
    yield from _below(root, first, ignored)


def _below(root: Path, directory: Path, ignored: "_Ignored") -> Iterator[str]:
    from_thread.check_cancelled()
    try:
        with os.scandir(directory) as scan:
            entries = sorted(scan, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    inner = ignored.entering(directory)
    for entry in entries:
        if entry.name.startswith(".") or inner.hides(Path(entry.path), is_dir=entry.is_dir(follow_symlinks=False)):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(root, Path(entry.path), inner)
        elif entry.is_file(follow_symlinks=False):
            yield os.path.relpath(entry.path, root)


@dataclass(frozen=True, slots=True)
class _Ignored:
    """The rules in force, nearest first. As in ripgrep, `.ignore` beats `.gitignore`, which needs a repository."""

    ignore: tuple[tuple[Path, GitIgnoreSpec], ...] = ()
    gitignore: tuple[tuple[Path, GitIgnoreSpec], ...] = ()
    in_repository: bool = False

    @classmethod
    def above(cls, directory: Path) -> "_Ignored":
        """The rules that hold in `directory` from the directories above it."""
        rules = cls()
        for parent in reversed(directory.parents):
            rules = rules.entering(parent)
        return rules

    def entering(self, directory: Path) -> "_Ignored":
        """The rules inside `directory`."""
        is_repository = (directory / ".git").exists()
        in_repository = self.in_repository or is_repository
        gitignore = () if is_repository else self.gitignore
        if is_repository:
            gitignore = _rules(directory, directory / ".git" / "info" / "exclude")
        if in_repository:
            gitignore = (*_rules(directory, directory / ".gitignore"), *gitignore)
        return _Ignored(
            ignore=(*_rules(directory, directory / ".ignore"), *self.ignore),
            gitignore=gitignore,
            in_repository=in_repository,
        )

    def hides(self, path: Path, *, is_dir: bool) -> bool:
        """Whether the nearest rule that speaks about `path` leaves it out."""
        for directory, spec in (*self.ignore, *self.gitignore):
            verdict = spec.check_file(f"{path.relative_to(directory).as_posix()}{'/' if is_dir else ''}").include
            if verdict is not None:
                return verdict
        return False


def _rules(directory: Path, file: Path) -> tuple[tuple[Path, GitIgnoreSpec], ...]:
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return ()
    return ((directory, GitIgnoreSpec.from_lines(lines)),)
