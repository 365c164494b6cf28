"""The files that `.gitignore` and `.ignore` hide, as for ripgrep. The tree brings the rules: they may be hostile."""

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from ohm_subagents.backends.in_process.regular_file import open_at, regular
from ohm_subagents.backends.in_process.tools.globs import Wanted, plain_glob
from ohm_subagents.backends.in_process.tools.place import printable
from ohm_subagents.backends.in_process.tools.text_file import decode

MAX_BYTES: Final = 262_144
"""Of all ignore files that hold in one place, together."""
_MAX_LINE_CHARS: Final = 1000
_SPECIAL: Final = frozenset("*?[\\")
_REPOSITORY: Final = ".git"
_GIT: Final = ".gitignore"
_OTHERS: Final = (".rgignore", ".ignore")  # the stronger first


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of an ignore file."""

    number: int
    hides: bool
    directories_only: bool


_Last = dict[bool, _Rule]
"""The last rule for directories only, and the last for everything."""


@dataclass(frozen=True, slots=True)
class _RuleFile:
    """The rules of a file; what most of them look like is looked up, and only the others are tried one by one.

    A path from the root becomes one from the directory of the file by `add` in front, or without its first `skip`.
    """

    add: str
    skip: int
    names: dict[str, _Last] = field(default_factory=dict[str, _Last])
    paths: dict[str, _Last] = field(default_factory=dict[str, _Last])
    suffixes: dict[str, _Last] = field(default_factory=dict[str, _Last])
    others: list[tuple[_Rule, Wanted]] = field(default_factory=list[tuple[_Rule, Wanted]])

    def take(self, number: int, line: str) -> None:
        """Add a line; later ones are stronger."""
        pattern = line.rstrip(" ") + (" " if line.rstrip(" ").endswith("\\") and line.endswith(" ") else "")
        if not pattern.strip("/") or pattern.startswith("#") or len(pattern) > _MAX_LINE_CHARS:
            return
        body = pattern.removeprefix("!")
        path = body.rstrip("/")
        rule = _Rule(number, not pattern.startswith("!"), body.endswith("/"))
        if _SPECIAL.isdisjoint(path):
            table, key = (self.paths, path.strip("/")) if "/" in path else (self.names, path)
        elif path.startswith("*.") and _SPECIAL.union("/.").isdisjoint(path[2:]):
            table, key = self.suffixes, path[2:]
        else:
            self.others.append((rule, plain_glob(path, rooted="/" in path)))
            return
        table.setdefault(key, {})[rule.directories_only] = rule

    def verdict(self, path: str, name: str, *, is_dir: bool) -> bool | None:
        """Return what the last rule that matches says; None if none does."""
        path = f"{self.add}{path}" if self.add else path[self.skip :]
        _, dot, suffix = name.rpartition(".")
        best: _Rule | None = None
        for last in (self.names.get(name), self.paths.get(path), self.suffixes.get(suffix) if dot else None):
            for rule in last.values() if last else ():
                if (is_dir or not rule.directories_only) and (best is None or rule.number > best.number):
                    best = rule
        for rule, matches in reversed(self.others):
            if best is not None and rule.number < best.number:
                break
            if (is_dir or not rule.directories_only) and matches(path):
                best = rule
                break
        return None if best is None else best.hides


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreRules:
    """The rules in force, each kind with the innermost file first; a stronger kind beats a weaker one anywhere.

    What of the tree is no bounded regular file is no ignore file, and is named in `refused`.
    """

    refused: list[str]
    kinds: tuple[tuple[_RuleFile, ...], ...] = ((), (), ())
    in_repository: bool = False
    room: int = MAX_BYTES

    def entering(self, handle: int, names: Collection[str], *, below: str = "", above: str = "") -> "IgnoreRules":
        """Return the rules inside an open directory that has these entries.

        It is `below` the root (empty: the root itself), or the root is at `above` in it.
        """
        is_repository = _REPOSITORY in names
        in_repository = self.in_repository or is_repository
        wanted = [name for name in (*_OTHERS, _GIT) if name in names and (in_repository or name != _GIT)]
        if not wanted and not is_repository:
            return self
        reading = _Reading(handle, self, f"{above}/" if above else "", below)
        custom, ignore, gitignore = self.kinds
        custom = (*reading.rules(".rgignore", wanted), *custom)
        ignore = (*reading.rules(".ignore", wanted), *ignore)
        if is_repository:
            gitignore = tuple(reading.file(_REPOSITORY, "info", "exclude"))
        gitignore = (*reading.rules(_GIT, wanted), *gitignore)
        return replace(self, kinds=(custom, ignore, gitignore), in_repository=in_repository, room=reading.room)

    def lifted(self) -> "IgnoreRules":
        """Return the rules for a start that is named on purpose, though they hide it."""
        return replace(self, kinds=((), (), ()))

    def hides(self, path: str, name: str, *, is_dir: bool) -> bool:
        """Return True if the strongest rule about a path from the root leaves it out."""
        for rules in chain.from_iterable(self.kinds):
            verdict = rules.verdict(path, name, is_dir=is_dir)
            if verdict is not None:
                return verdict
        return False


class _Reading:
    """Reads the ignore files of a directory, as far as there is room."""

    def __init__(self, handle: int, rules: IgnoreRules, add: str, below: str) -> None:
        self._handle = handle
        self._refused = rules.refused
        self._add = add
        self._below = below
        self.room = rules.room

    def rules(self, name: str, wanted: Collection[str]) -> list[_RuleFile]:
        return self.file(name) if name in wanted else []

    def file(self, *parts: str) -> list[_RuleFile]:
        """Return the rules of a file, or none."""
        file = None
        try:
            file = regular(open_at(self._handle, parts))
        except (FileNotFoundError, NotADirectoryError):
            if len(parts) > 1:  # a repository need not have one
                return []
        except OSError:
            pass
        data = None
        if file is not None:
            with file, suppress(OSError):
                data = file.read(self.room + 1)
        if data is None or len(data) > self.room:
            self._refused.append(self._shown(*parts))
            return []
        self.room -= len(data)
        rules = _RuleFile(self._add, len(self._below) + 1 if self._below else 0)
        for number, line in enumerate(decode(data).removeprefix("\ufeff").split("\n")):
            rules.take(number, line.rstrip("\r"))
        return [rules]

    def _shown(self, *parts: str) -> str:
        up = "../" * self._add.count("/")
        return printable(os.path.join(up or self._below, *parts))  # noqa: PTH118  a text, and no path of this system
