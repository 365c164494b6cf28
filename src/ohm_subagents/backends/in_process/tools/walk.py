"""The walk that finds the files of a search, from open directory to open directory: no link leads out."""

import os
import stat
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from anyio import from_thread

from ohm_subagents.backends.in_process.regular_file import DIRECTORY
from ohm_subagents.backends.in_process.tools.ignore_rules import IgnoreRules

_MAX_DEPTH: Final = 200  # each level is an open directory
_CHECK_EVERY: Final = 100
_INNER: Final = DIRECTORY | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class _Level:
    """An open directory, and what of it has still to be looked at. `prefix` is its path from the root, with a slash."""

    handle: int
    prefix: str
    entries: Iterator["os.DirEntry[str]"]
    rules: IgnoreRules


@dataclass(slots=True, kw_only=True)
class Walk:
    """Lists the regular files below a start, relative to the root, in order of path.

    Hidden and ignored files and links are left out, unless the start itself names them; then it is not `is_visible`.
    `unread`: some place could not be read. `refused`: ignore files that do not count. For worker threads: it stops
    soon after their call was cancelled.
    """

    root: Path
    start: str = "."
    is_visible: bool = True
    unread: bool = False
    refused: list[str] = field(default_factory=list[str])
    _seen: int = 0

    def files(self) -> Generator[str]:
        """Yield the paths, as the system has them."""
        levels: list[_Level] = []
        try:
            yield from self._begun(levels)
            while levels:
                yield from self._next(levels)
        finally:
            for level in levels:
                os.close(level.handle)

    def _begun(self, levels: list[_Level]) -> Iterator[str]:
        """Go down to the start; a file is all there is."""
        rules = self._rules_above()
        self._enter(levels, os.open(self.root, DIRECTORY), "", rules)
        if self.start == ".":
            return
        for part in self.start.split("/"):
            level = levels[-1]
            path = f"{level.prefix}{part}"
            try:
                mode = os.stat(part, dir_fd=level.handle, follow_symlinks=False).st_mode
                is_hidden = level.rules.hides(path, part, is_dir=stat.S_ISDIR(mode))
                rules = level.rules.lifted() if is_hidden else level.rules
                self.is_visible = self.is_visible and not is_hidden and not part.startswith(".")
                if stat.S_ISDIR(mode):
                    self._enter(levels, os.open(part, _INNER, dir_fd=level.handle), f"{path}/", rules)
            except OSError:
                self.unread, mode = True, 0
            os.close(levels.pop(0).handle)
            if not stat.S_ISDIR(mode):
                if stat.S_ISREG(mode) and path == self.start:
                    yield path
                return

    def _next(self, levels: list[_Level]) -> Iterator[str]:
        level = levels[-1]
        for entry in level.entries:
            self._seen += 1
            if self._seen % _CHECK_EVERY == 0:
                from_thread.check_cancelled()
            name, is_dir = entry.name, entry.is_dir(follow_symlinks=False)
            path = f"{level.prefix}{name}"
            if name.startswith(".") or level.rules.hides(path, name, is_dir=is_dir):
                continue
            if is_dir:
                try:
                    if len(levels) < _MAX_DEPTH:
                        self._enter(levels, os.open(name, _INNER, dir_fd=level.handle), f"{path}/", level.rules)
                        return
                except OSError:
                    pass
                self.unread = True
            elif entry.is_file(follow_symlinks=False):
                yield path
        os.close(levels.pop().handle)

    def _enter(self, levels: list[_Level], handle: int, prefix: str, rules: IgnoreRules) -> None:
        """Take over the open directory: whatever happens, it is closed with the levels or here."""
        try:
            from_thread.check_cancelled()
            entries = self._listed(handle)
            inner = rules.entering(handle, {entry.name for entry in entries if entry.name[0] == "."}, below=prefix[:-1])
        except BaseException:
            os.close(handle)
            raise
        levels.append(_Level(handle, prefix, iter(entries), inner))

    def _listed(self, handle: int) -> list["os.DirEntry[str]"]:
        try:
            with os.scandir(handle) as scan:
                return sorted(scan, key=lambda entry: os.fsencode(entry.name))
        except OSError:
            self.unread = True
            return []

    def _rules_above(self) -> IgnoreRules:
        """Return the rules that hold in the root from the directories above it."""
        rules = IgnoreRules(refused=self.refused)
        for parent in reversed(self.root.parents):
            with suppress(OSError):
                handle = os.open(parent, DIRECTORY)
                try:
                    names = {name for name in (".git", ".gitignore", ".ignore", ".rgignore") if _is_there(handle, name)}
                    rules = rules.entering(handle, names, above=self.root.relative_to(parent).as_posix())
                finally:
                    os.close(handle)
        return rules


def _is_there(directory: int, name: str) -> bool:
    with suppress(OSError):
        os.stat(name, dir_fd=directory, follow_symlinks=False)
        return True
    return False
