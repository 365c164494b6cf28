"""Processes that leave nothing behind. Knows no CLI."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from ohm_subagents._backends.shell.dialect import Ended
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.result import Result

MARKER: Final = "OHM_SUBAGENT_RUN_ID"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to start: a command without a shell, with exactly this environment and the marker.

    `prompt` is written to standard input, which is then closed; with None it stays open for `Child.write`.
    `on_gone` is called once, when nothing of the process is left.
    """

    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    prompt: bytes | None = None
    on_gone: Callable[[], None] = lambda: None


class Child:
    """A running process and whatever it starts."""

    @property
    def pid(self) -> int: ...

    async def write(self, data: bytes) -> None:
        """Write to standard input; what a process that has gone away does not take is lost."""

    def lines(self) -> AsyncIterator[bytes]:
        """Standard output, split at line feeds and nothing else, without them; ends with the process."""
        ...

    async def ended(self, within_s: float | None = None) -> Ended:
        """Wait for the process's own end, then for the end of what it left. After `within_s` it is stopped."""
        ...

    def sweep(self) -> None:
        """End what the process has left running, but not the process itself; in the background."""

    def stop(self) -> None:
        """End it and all that it started, in the background: returns at once."""


class Supervisor:
    """Starts processes and sees that nothing of them is left: after their end, after ours, and when we are killed."""

    @classmethod
    @asynccontextmanager
    async def open(cls, *, grace_s: float = 2.0) -> AsyncGenerator[Self]:
        """On leaving, whatever still runs is stopped and waited for."""
        yield cls()

    async def start(self, launch: Launch) -> Result[Child, OhmError]:
        """Start a process in a session of its own. An `Err` says in one sentence why it could not be started."""
        ...
