"""The commands that have passed on the files of a clone: on the same files they need not run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents.contract.result import Err
from ohm_subagents.workspaces import workspaces_of

if TYPE_CHECKING:
    from ohm_subagents._plugins.backends.request import RunRequest

_MOST: Final = 500
_Key: TypeAlias = tuple[str, str, str, str, str]


class PassedCommands:
    """Remembers the newest commands that have passed, each with its session, its files and its sandbox.

    One that has failed runs again: what it lacked may be none of the files.
    """

    def __init__(self) -> None:
        self._passed: dict[_Key, None] = {}

    def knows(self, request: RunRequest) -> bool:
        """Return True if a command has passed in the session of a run."""
        return any(session == request.session_id for session, *_ in self._passed)

    def has(self, command: str, request: RunRequest, files: str) -> bool:
        """Return True if a command has passed on these files."""
        return bool(files) and _key(command, request, files) in self._passed

    def add(self, command: str, request: RunRequest, files: str) -> None:
        """Remember that a command has passed, and left these files."""
        if files:
            self._passed[_key(command, request, files)] = None
            if len(self._passed) > _MOST:
                del self._passed[next(iter(self._passed))]


async def files_of(request: RunRequest) -> str:
    """Return the id of the tree of a clone's files; empty where it cannot be told."""
    workspaces = workspaces_of(request.env)
    if isinstance(workspaces, Err):
        return ""
    seen = await workspaces.ok_value.parent(request.cwd)
    return "" if isinstance(seen, Err) else seen.ok_value.tree


def _key(command: str, request: RunRequest, files: str) -> _Key:
    return (request.session_id, f"{request.cwd}", f"{request.sandbox}", files, command)
