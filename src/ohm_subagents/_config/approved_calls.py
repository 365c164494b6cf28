"""Tool calls that the user has approved for always: a private file each, in the user's own directory."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ohm_subagents._config.regular_file import read_regular
from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import JsonValue

FOLDER: Final = "approved-calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovedCall:
    """A call that is made without asking, where a rule would ask."""

    digest: str
    """The digest of its tool, arguments and directory, to which the approval is bound."""
    tool: str
    """The name of the tool."""
    arguments: str
    """The arguments as they were shown, for people."""
    approved_ms: int
    """The time of the approval, in epoch milliseconds."""


class ApprovedCalls:
    """The approved calls of a user; to remove a file takes the approval back."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / FOLDER

    def has(self, digest: str) -> bool:
        """Return True if a call was approved; a file that cannot be read approves nothing."""
        try:
            return bool(json.loads(read_regular(self._file(digest)))["digest"] == digest)
        except (OSError, ValueError, TypeError, KeyError):
            return False

    def add(self, call: ApprovedCall) -> None:
        """Keep an approval, readable for its user alone. Raises `OSError`."""
        path = self._file(call.digest)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = path.with_name(f"{uuid4().hex}.new")
        said = {"tool": call.tool, "arguments": call.arguments, "approvedMs": call.approved_ms, "digest": call.digest}
        try:
            new.touch(mode=0o600, exist_ok=False)
            new.write_text(json.dumps(said, indent=2), encoding="ascii")
            new.replace(path)
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)

    def _file(self, digest: str) -> Path:
        return self._folder / f"{digest[:32]}.json"

    def file(self, digest: str) -> Path | None:
        """Return the file of an approval, which takes it back if it is removed; None if there is none."""
        return self._file(digest) if self.has(digest) else None


def digest_of(tool: str, arguments: Mapping[str, JsonValue], cwd: Path) -> str:
    """Return what an approval is bound to: the tool, its whole arguments, and the directory."""
    whole = json.dumps([tool, arguments, str(cwd)], sort_keys=True, separators=(",", ":"))
    return sha256(whole.encode()).hexdigest()


def approval_of(directory: Path, tool: str, arguments: Mapping[str, JsonValue], *, cwd: Path) -> Path | None:
    """Return the file in the user's directory by which a call is approved for always; None if none is."""
    return ApprovedCalls(directory).file(digest_of(tool, arguments, cwd))
