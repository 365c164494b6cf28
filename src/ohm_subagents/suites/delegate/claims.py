"""Claims on sessions: one call at a time continues a session, of all processes that keep tasks in one place."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from ohm_subagents.files import try_lock

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

FOLDER: Final = "ohm.subagents.sessions"


@contextmanager
def claims(kept_in: Path | None, session_ids: Iterable[str]) -> Generator[frozenset[str]]:
    """Claim these sessions while this is open; yields those that another call has claimed.

    Where no task outlives its process, no other process can have one.
    """
    with ExitStack() as held:
        busy = set[str]()
        if kept_in is not None:
            for session_id in dict.fromkeys(session_ids):
                if not held.enter_context(try_lock(kept_in / FOLDER / _name(session_id))):
                    busy.add(session_id)
        yield frozenset(busy)


def _name(session_id: str) -> str:
    """Return the name of the lock file of a session, whatever its id holds."""
    return f"{hashlib.sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:32]}.lock"
