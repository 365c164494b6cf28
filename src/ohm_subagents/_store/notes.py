"""Messages for the user about a place of tasks."""

from collections.abc import Iterable
from typing import Literal

from ohm_subagents.contract.diagnostics import Diagnostic


class Notes:
    """Collects messages from any thread; `source` is the place that they are about."""

    def __init__(self, source: str) -> None:
        self._source = source
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

    def _diagnostic(self, message: str, severity: Literal["warning", "info"] = "warning") -> Diagnostic:
        return Diagnostic(subject="subagents.store", message=message, severity=severity, source=self._source)
