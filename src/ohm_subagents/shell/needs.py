"""The files of an agent's own, which it needs in a sandbox."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ohm_subagents.sandbox import Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Files of an agent outside of the workspace; what is not there is not needed."""

    reads: tuple[str | Path, ...] = ()
    """It reads them."""
    writes: tuple[str | Path, ...] = ()
    """It changes them, and finds them changed the next time."""
    copies: tuple[str | Path, ...] = ()
    """It reads directories and changes them for itself alone; where a copy cannot be had, it only reads them."""

    def within(self, box: Box, command: Iterable[str]) -> Box:
        """Return the sandbox of a run in which its agent has its own files, its program, and the network."""
        programs = (word for word in command if word.startswith("/"))
        return box.with_needs(reads=self.reads, writes=self.writes, copies=self.copies, programs=programs, network=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFolders:
    """The directories of an agent below the home of the user."""

    own: tuple[str, ...] = ()
    """Those of its login and its settings, which it may change for itself alone."""
    kept: tuple[str, ...] = ()
    """Those of its conversations."""
    mover: str = ""
    """The variable that names another directory in place of the first of `own`."""

    def needs(self, env: Mapping[str, str]) -> Needs:
        """Return them as the needs of a run; those of conversations are made as the agent would make them itself."""
        home, moved = Path(env.get("HOME") or Path.home()), env.get(self.mover, "")

        def place(name: str) -> Path:
            top, _, below = name.partition("/")
            return Path(moved, below) if moved and top == self.own[0] else home / name

        kept = tuple(map(place, self.kept))
        for folder in kept:
            with suppress(OSError):  # what cannot be made here, the agent cannot make either
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Needs(copies=tuple(map(place, self.own)), writes=kept)
