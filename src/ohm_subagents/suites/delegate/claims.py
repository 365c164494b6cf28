"""Who may go on with a session: one call at a time, of all processes that keep their tasks in one place."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from ohm_subagents.files import claimed

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

FOLDER: Final = "ohm.subagents.sessions"


@contextmanager
def claims(kept_in: Path | None, session_ids: Iterable[str]) -> Generator[frozenset[str]]:
    """Keep these sessions from everybody else while this is open; gives those that somebody else has.

    Where no task outlives its process there is nobody else.
    """
    with ExitStack() as held:
        busy = set[str]()
        if kept_in is not None:
            for session_id in dict.fromkeys(session_ids):
                if not held.enter_context(claimed(kept_in / FOLDER / _name(session_id))):
                    busy.add(session_id)
        yield frozenset(busy)


def _name(session_id: str) -> str:
    """A file of its own for whatever a model calls a session."""
    return f"{hashlib.sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:32]}.lock"
