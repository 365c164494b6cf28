"""The `Ohm` of each session: of its directory, or the one that a program has given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio

from ohm_subagents import Ohm
from ohm_subagents.commands import report

if TYPE_CHECKING:
    from pathlib import Path


class Ohms(Protocol):
    """Gives each session an `Ohm`."""

    async def enter(self, cwd: Path) -> Ohm:
        """Return the `Ohm` for a directory, for one more session."""
        ...

    async def leave(self, ohm: Ohm) -> None:
        """Take back the `Ohm` of a session that is over."""
        ...


class GivenOhm:
    """One `Ohm` for all sessions, which its owner closes."""

    def __init__(self, ohm: Ohm) -> None:
        self._ohm = ohm

    async def enter(self, cwd: Path) -> Ohm:
        del cwd  # each task of a session is told its directory
        return self._ohm

    async def leave(self, ohm: Ohm) -> None:
        pass


class OhmOfEachDirectory:
    """An `Ohm` for each directory, with the configuration that holds there; closed with its last session."""

    def __init__(self, *, config: Path | None) -> None:
        self._config = config
        self._opened: dict[Path, Ohm] = {}
        self._sessions: dict[Path, int] = {}
        self._changing = anyio.Lock()

    async def enter(self, cwd: Path) -> Ohm:
        async with self._changing:
            if cwd not in self._opened:
                self._opened[cwd] = await Ohm.aopen(cwd=cwd, config=self._config)
                report(self._opened[cwd].diagnostics)
            self._sessions[cwd] = self._sessions.get(cwd, 0) + 1
            return self._opened[cwd]

    async def leave(self, ohm: Ohm) -> None:
        async with self._changing:
            cwd = next(place for place, each in self._opened.items() if each is ohm)
            self._sessions[cwd] -= 1
            if not self._sessions[cwd]:
                del self._sessions[cwd], self._opened[cwd]
                await ohm.aclose()

    async def close(self) -> None:
        """Close all of them, whatever sessions there are."""
        for ohm in tuple(self._opened.values()):
            await ohm.aclose()
