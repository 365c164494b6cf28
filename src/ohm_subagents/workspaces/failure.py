"""The failure of a workspace."""

from __future__ import annotations

from ohm_subagents.contract.errors import ErrorCode, OhmError


class WorkspaceError(Exception):
    """A workspace cannot be made, or what was done in it cannot be kept. Inside of this room only."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice

    @property
    def error(self) -> OhmError:
        """The failure as a value."""
        return OhmError(code=ErrorCode.WORKSPACE_FAILED, message=f"{self}", advice=self.advice)


def error_of(why: Exception) -> OhmError:
    """Return a failure of this room, or of the system below it, as a value."""
    return (
        why if isinstance(why, WorkspaceError) else WorkspaceError(f"The workspace cannot be written: {why}.")
    ).error
