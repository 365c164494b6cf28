"""Sticky sessions: one for each directory, agent and id, in a file each, used by one call at a time."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from ohm_subagents._plugins.hookspecs import PROJECT
from ohm_subagents.contract.ids import SessionId

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

_SLUG_CHARS: Final = 80
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.]+")

logger = logging.getLogger(PROJECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class StickySession:
    """Where a session is kept; another directory, another agent or another id is another file."""

    path: Path

    @classmethod
    def of(cls, folder: Path, *, cwd: Path, agent: str, session_id: str) -> StickySession:
        """The session of an agent in a directory. The id is one that may be part of a file name. Touches no file."""
        return cls(path=folder / cwd_key(cwd) / f"{_stem(agent, session_id)}.jsonl")

    @property
    def id(self) -> SessionId:
        """What the engine knows it by."""
        return SessionId(f"{self.path.parent.name}/{self.path.stem}")

    async def read(self) -> str | None:
        """What the backend wrote down of it, empty if that was nothing; None for a session that is new."""
        try:
            return await to_thread.run_sync(self.path.read_text, "utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError:
            logger.exception("A sticky session cannot be read.")
            return None

    async def write(self, state: str) -> None:
        """Keep this as the session, for the owner alone; a disk that does not take it costs the file only."""
        try:
            await to_thread.run_sync(self._replace, state)
        except OSError:
            logger.exception("A sticky session cannot be kept.")

    def _replace(self, state: str) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = self.path.with_suffix(f".{os.getpid()}.tmp")
        with open(half, "wb", opener=_for_us_alone) as file:
            file.write(state.encode("utf-8", "replace"))
        half.replace(self.path)


def _stem(agent: str, session_id: str) -> str:
    """`<agent>_<session id>`; the last `_` divides them, and where the id has one itself, how long the agent's name is.

    So no other agent and id have it: `~` is in no name and in no id.
    """
    stem = f"{agent}_{session_id}"
    return f"{stem}~{len(agent)}" if "_" in session_id else stem


def cwd_key(cwd: Path) -> str:
    """A name for a directory that people can read and no other directory has."""
    whole = os.path.abspath(cwd)  # noqa: PTH100  `resolve` would read the disk
    slug = _UNSAFE.sub("-", whole).strip("-")[-_SLUG_CHARS:]
    return f"{slug}-{hashlib.sha256(os.fsencode(whole)).hexdigest()[:8]}"


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Turns:
    """Lets one call at a time into a session; the others wait, in the order in which they came."""

    def __init__(self) -> None:
        self._locks: dict[SessionId, anyio.Lock] = {}
        self._users: Counter[SessionId] = Counter()

    @asynccontextmanager
    async def turn(self, session_id: SessionId) -> AsyncGenerator[None]:
        """The session is ours until this is left."""
        lock = self._locks.setdefault(session_id, anyio.Lock())
        self._users[session_id] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[session_id] -= 1
            if not self._users[session_id]:
                del self._users[session_id], self._locks[session_id]
