"""Sticky sessions: one for each directory, agent and id, in a file each."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from anyio import to_thread
from pydantic_core import from_json

from ohm_subagents.files import os_problem, write_private
from ohm_subagents.suite import Err, Ok, Result, SessionId

if TYPE_CHECKING:
    from pathlib import Path

_SLUG_CHARS: Final = 80
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class StickySession:
    """The file of a session: another directory, agent or id is another file."""

    path: Path

    @classmethod
    def of(cls, folder: Path, *, cwd: Path, agent: str, session_id: str) -> StickySession:
        """Name the session of an agent in a directory; touches no file. The id has to be safe in a file name."""
        return cls(path=folder / cwd_key(cwd) / f"{_stem(agent, session_id)}.jsonl")

    @property
    def id(self) -> SessionId:
        """The id of the session in the engine."""
        return SessionId(f"{self.path.parent.name}/{self.path.stem}")

    async def read(self) -> Result[str | None, str]:
        """Return the state that the backend kept, empty if it kept none; None for a new session.

        Returns one sentence if the file cannot be read, or its name is too long.
        """
        try:
            written = await to_thread.run_sync(self.path.read_bytes)
        except FileNotFoundError:
            return Ok(None)
        except OSError as error:
            return Err(f"The session file '{self.path}' cannot be read: {os_problem(error)}.")
        return Ok(written.decode("utf-8", "replace"))

    async def write(self, state: str) -> str | None:
        """Keep the state, readable for its owner alone; return one sentence if the disk refuses it."""
        try:
            await to_thread.run_sync(self._replace, state)
        except OSError as error:
            return f"This turn cannot be kept in the session file '{self.path}': {os_problem(error)}."
        return None

    async def put_aside(self, state: str, now_ms: int) -> Result[Path, str]:
        """Rename a file that this backend cannot read; the new name tells another backend's file from a damaged one."""
        kept = self.path.with_name(f"{self.path.name}.{'other-backend' if _is_sound(state) else 'corrupt'}-{now_ms}")
        try:
            await to_thread.run_sync(self.path.replace, kept)
        except OSError as error:
            return Err(f"The session file '{self.path}' cannot be put aside: {os_problem(error)}.")
        return Ok(kept)

    def _replace(self, state: str) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = self.path.with_suffix(".tmp")
        try:
            write_private(half, state)
            half.replace(self.path)
        except BaseException:
            with suppress(OSError):
                half.unlink()
            raise


def _is_sound(state: str) -> bool:
    """Return True for lines of JSON objects, the last of which may be cut."""
    first, _, _ = state.partition("\n")
    try:
        return isinstance(from_json(first), dict)
    except ValueError:
        return False


def _stem(agent: str, session_id: str) -> str:
    """`<agent>_<session id>`; the last `_` divides them, and where the id has one itself, how long the agent's name is.

    So no other agent and id have it: `~` is in no name and in no id.
    """
    stem = f"{agent}_{session_id}"
    return f"{stem}~{len(agent)}" if "_" in session_id else stem


def cwd_key(cwd: Path) -> str:
    """Return a name of a directory that people can read and no other directory has."""
    whole = os.path.abspath(cwd)  # noqa: PTH100  `resolve` would read the disk
    slug = _UNSAFE.sub("-", whole).strip("-")[-_SLUG_CHARS:]
    return f"{slug}-{hashlib.sha256(os.fsencode(whole)).hexdigest()[:8]}"
