"""The ground that a rule is about: the directory it was written for, also where calls are made in a clone of it.

A path below the clone is judged as the same path below the original. A path into the original itself, of a run that
works in a clone, leads outside: nothing allows it.
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.call_rules import CallRules, CloneOf

Parts = tuple[str, ...]
"""An absolute path as its names, without the root."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A place, as the rule has to see it."""

    place: Parts
    """The place in terms of the directory that the rule was written for."""
    is_outside: bool = False
    """It is in the original of the clone that the call is made in."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The directory that a rule was written for."""

    cwd: Path
    """The directory that relative patterns begin at."""
    clones: tuple[CloneOf, ...] = ()
    """The clones of it that calls are made in, the outermost first."""

    @classmethod
    def of(cls, rules: CallRules, cwd: Path) -> Ground:
        """Return the ground of a rule, for calls in a directory."""
        return cls(Path(rules.cwd) if rules.cwd else cwd, rules.clones)

    def seen(self, place: Parts, *, is_tree: bool = False) -> list[Seen]:
        """Return all that a place may be for the rule. `is_tree`: everything below the place is used."""
        found = [Seen(place)]
        for clone in reversed(self.clones):
            found = [one for before in found for one in _through(clone, before, is_tree=is_tree)]
        return found

    def real(self, place: Parts) -> Parts:
        """Return where the links of a place lead, by the files that calls use, in the terms of the rule."""
        here = place
        for clone in self.clones:
            for original in (real_parts(clone.original), parts(clone.original)):
                if _is_below(here, original):
                    here = (*real_parts(clone.clone), *here[len(original) :])
                    break
        return self.seen(real_parts("/" + "/".join(here)))[0].place


def _through(clone: CloneOf, seen: Seen, *, is_tree: bool) -> Iterator[Seen]:
    """Yield what a place is for one who knows the original of a clone."""
    place, home, here = seen.place, real_parts(clone.original), real_parts(clone.clone)
    written = parts(clone.clone)
    root = here if _is_below(place, here) else written
    if seen.is_outside or not _is_below(place, root):
        yield Seen(place, is_outside=seen.is_outside or _is_below(folded(place), folded(home)))
    if not seen.is_outside and _is_below(folded(place), folded(root)):  # perhaps in another spelling
        yield Seen((*home, *place[len(root) :]))
    elif is_tree and _is_below(here, place):
        yield Seen(home)


def parts(path: str) -> Parts:
    """Return the names of a path."""
    return tuple(name for name in path.split("/") if name not in ("", "."))


def real_parts(path: str | Path) -> Parts:
    """Return the names of a path whose links are followed."""
    return parts(os.path.realpath(path))


def folded(names: Parts) -> Parts:
    """Return names as a file system that takes cases and spellings as equal compares them."""
    return tuple(unicodedata.normalize("NFC", name).casefold() for name in names)


def _is_below(place: Parts, root: Parts) -> bool:
    return place[: len(root)] == root
