"""What the user should know of a file of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Severity = Literal["warning", "info"]


class Notes:
    """Taken from any thread."""

    def __init__(self, file: Path) -> None:
        self._source = str(file)
        self._noted: list[Diagnostic] = []
        self._failure: tuple[Diagnostic, ...] = ()

    @property
    def all(self) -> tuple[Diagnostic, ...]:
        """What was noted, and what cannot be written now."""
        return (*self._noted, *self._failure)

    def tell(self, message: str, severity: Severity = "warning") -> None:
        """Note it."""
        self._noted.append(self._of(message, severity))

    def tell_once(self, message: str) -> None:
        """Unless it was noted."""
        if all(each.message != message for each in tuple(self._noted)):
            self.tell(message)

    def take(self, diagnostics: Iterable[Diagnostic]) -> None:
        """What somebody else has put into words."""
        self._noted += diagnostics

    def fail(self, message: str | None) -> None:
        """Why nothing can be written, as long as it is so."""
        self._failure = () if message is None else (self._of(message, "warning"),)

    def _of(self, message: str, severity: Severity) -> Diagnostic:
        return Diagnostic(subject="subagents.store", message=message, severity=severity, source=self._source)
