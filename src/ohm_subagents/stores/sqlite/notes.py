"""Messages for the user about a file of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.stores.sqlite.place import mark_damaged

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Literal


class Notes:
    """Collects messages from any thread."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._noted: list[Diagnostic] = []
        self._failure: tuple[Diagnostic, ...] = ()

    @property
    def all(self) -> tuple[Diagnostic, ...]:
        """All messages, and the reason why nothing can be written now."""
        return (*self._noted, *self._failure)

    def note(self, message: str, severity: Literal["warning", "info"] = "warning") -> None:
        """Note a message."""
        self._noted.append(self._diagnostic(message, severity))

    def note_once(self, message: str) -> None:
        """Note a message unless it was noted."""
        if all(each.message != message for each in tuple(self._noted)):
            self.note(message)

    def take(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add diagnostics."""
        self._noted += diagnostics

    def fail(self, message: str | None) -> None:
        """Set the reason why nothing can be written; None when it can."""
        self._failure = () if message is None else (self._diagnostic(message),)

    def mark_damaged(self) -> None:
        """Let the next process that opens the file alone make it anew."""
        mark_damaged(self._file)

    def _diagnostic(self, message: str, severity: Literal["warning", "info"] = "warning") -> Diagnostic:
        return Diagnostic(subject="subagents.store", message=message, severity=severity, source=str(self._file))
