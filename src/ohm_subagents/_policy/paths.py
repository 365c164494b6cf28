"""Judge the path of a call by patterns, as `src/**`: where it leads counts, and not how it is written."""

from __future__ import annotations

import os
import re
import unicodedata
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from ohm_subagents._policy.ground import Ground, Parts, folded, parts, real_parts
from ohm_subagents._records import dataclass
from ohm_subagents.contract.call_rules import TREE_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

_NAMES: Final = ("path", "file_path", "filePath", "notebook_path")
"""The arguments that hold a path, as the tools of all backends name them."""
_DEEP: Final = "**"
_WILD: Final = frozenset("*?[")
_SPACES: Final = re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_FILE_URL: Final = "file://"
_NO_PATH: Final = "it has no path that can be read"


@dataclass(frozen=True, slots=True)
class Target:
    """A place that a call may use."""

    real: Parts
    """The place without links."""
    written: Parts
    """The place as its text says, `..` taken away."""
    is_outside: bool = False
    """The place is in the directory that the run works in a clone of."""


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A pattern for a path, and for all that is below one that it matches."""

    base: Parts
    """The names before the first wildcard; those of the directory are before a relative pattern."""
    real_base: Parts
    """The place where their links lead."""
    globs: Parts
    """The other names: `*`, `?` and `[…]` stand for characters of one name, `**` alone for any number of names."""

    @classmethod
    def parse(cls, text: str, ground: Ground) -> PathPattern:
        """Return the pattern of a text, for the ground that it was written for."""
        path = Path(text).expanduser() if text.startswith("~") else Path(text)
        names = [] if path.is_absolute() else [(name, False) for name in real_parts(ground.cwd)]
        for name in parts(str(path)):
            if name == "..":
                del names[-1:]
            else:
                names.append((name, bool(_WILD & set(name))))
        fixed = next((at for at, (_, is_wild) in enumerate(names) if is_wild), len(names))
        base = tuple(name for name, _ in names[:fixed])
        globs = tuple(name for name, _ in names[fixed:])
        return cls(base=base, real_base=ground.real(base), globs=globs)

    def covers(self, target: Target) -> bool:
        """Return True if the place is certainly one of the pattern's: the rule of what is allowed."""
        return not target.is_outside and _Match.of(self.base, self.globs, target.real).is_whole

    def may_be(self, target: Target, *, is_tree: bool) -> bool:
        """Return True if the place may be one of the pattern's: the rule of a refusal.

        `is_tree`: everything below the place is read, so that it may hold one.
        """
        globs = folded(self.globs)
        found = [
            _Match.of(base, globs, place)
            for base in {folded(self.base), folded(self.real_base)}
            for place in {folded(target.real), folded(target.written)}
        ]
        return any(one.is_whole or (is_tree and one.may_follow) for one in found)


@dataclass(frozen=True, slots=True)
class _Match:
    is_whole: bool
    """The pattern matches the place, or one above it."""
    may_follow: bool
    """The pattern may match something below the place."""

    @classmethod
    def of(cls, base: Parts, globs: Parts, place: Parts) -> _Match:
        """Hold a place against a pattern."""
        if place[: len(base)] != base:
            return cls(is_whole=False, may_follow=base[: len(place)] == place)
        at = _skipped({0}, globs)
        for name in place[len(base) :]:
            if len(globs) in at:
                break
            at = _skipped({one + (globs[one] != _DEEP) for one in at if _fits(globs[one], name)}, globs)
        return cls(is_whole=len(globs) in at, may_follow=bool(at))


def _skipped(positions: set[int], globs: Parts) -> set[int]:
    """Return positions in a pattern with those behind each `**`, which may stand for no name."""
    found = set(positions)
    for at, name in enumerate(globs):
        if at in found and name == _DEEP:
            found.add(at + 1)
    return found


def _fits(pattern: str, name: str) -> bool:
    return pattern == _DEEP or fnmatchcase(name, pattern)


@dataclass(frozen=True, slots=True)
class PathCall:
    """A call of a tool by the path that it uses."""

    targets: tuple[Target, ...]
    """Every place that the path may mean; none for a path that cannot be read."""
    is_tree: bool
    """Everything below the place is read."""

    @classmethod
    def of(cls, tool: str, arguments: Mapping[str, JsonValue], cwd: Path) -> PathCall:
        """Read the path of a call. A tool may expand `~`, take `@` away, or read a URL: a rule has to hold for all."""
        given = [arguments[name] for name in _NAMES if arguments.get(name) is not None]
        texts = [one for one in given if isinstance(one, str)]
        if not given and tool in (*TREE_TOOLS, "ls"):
            texts = ["."]
        found: tuple[Target, ...] = ()
        if len(texts) >= len(given):
            with suppress(ValueError, OSError, RuntimeError):  # a NUL, a lone surrogate, an unknown home
                found = tuple(place for text in texts for one in _readings(text or ".") for place in _places(one, cwd))
        return cls(targets=found, is_tree=tool in TREE_TOOLS)

    def beyond(self, allowed: tuple[str, ...], ground: Ground) -> str | None:
        """Return why the call is not certainly one of the allowed ones; None if it is."""
        if not self.targets:
            return _NO_PATH
        patterns = [PathPattern.parse(one, ground) for one in allowed]
        for target in self._seen(ground):
            if target.is_outside:
                return f"'{_shown(target)}' is outside of the clone that the subagent works in"
            if not any(one.covers(target) for one in patterns):
                return f"no pattern allows '{_shown(target)}'"
        return None

    def may_be(self, patterns: tuple[str, ...], ground: Ground) -> str | None:
        """Return why the call may be one of the patterns; None if it is none."""
        if not self.targets:
            return _NO_PATH
        targets = self._seen(ground)
        for text in patterns:
            pattern = PathPattern.parse(text, ground)
            for target in targets:
                if pattern.may_be(target, is_tree=self.is_tree):
                    return f"'{_shown(target)}' is, or may hold, '{text}'" if self.is_tree else f"it uses '{text}'"
        return None

    def _seen(self, ground: Ground) -> list[Target]:
        """Return the places as the rule has to see them."""
        if not ground.clones:
            return list(self.targets)
        return [
            Target(real=real.place, written=written.place, is_outside=real.is_outside)
            for one in self.targets
            for real in ground.seen(one.real, is_tree=self.is_tree)
            for written in ground.seen(one.written, is_tree=self.is_tree)
        ]


def _shown(target: Target) -> str:
    return "/" + "/".join(target.real)


def _readings(text: str) -> Iterator[str]:
    """Yield the texts that a tool may take a path for."""
    plain = {text, text.strip(), _SPACES.sub(" ", text)}
    plain |= {one.removeprefix("@") for one in plain}
    plain |= {unquote(one[len(_FILE_URL) :].removeprefix("localhost")) for one in plain if one.startswith(_FILE_URL)}
    plain |= {str(Path(one).expanduser()) for one in plain if one.startswith("~")}
    for one in plain:
        yield one
        yield from (unicodedata.normalize(form, one) for form in ("NFC", "NFD") if not one.isascii())


def _places(text: str, cwd: Path) -> Iterator[Target]:
    whole = cwd / text
    real = os.path.realpath(whole)
    settled = os.path.realpath(real)  # `realpath` gives up behind links in a circle
    written = parts(os.path.normpath(whole))
    yield Target(real=parts(real), written=written)
    if settled != real:
        yield Target(real=parts(settled), written=written)
