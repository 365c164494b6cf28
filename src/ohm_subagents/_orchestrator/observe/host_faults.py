"""Faults of what the embedding program passed in: a logger, an observer, a host, a clock."""

from __future__ import annotations

from typing import Final

from ohm_subagents._concurrency.faults import error_line
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.text import encodable
from ohm_subagents.contract.truncation import shortened

LONGEST: Final = 260


class HostFaults:
    """Keeps one diagnostic for each thing that broke, however often it does."""

    def __init__(self) -> None:
        self._noted: dict[str, Diagnostic] = {}

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return one diagnostic for each thing that broke so far."""
        return tuple(self._noted.values())

    def raised(self, subject: str, error: BaseException, so: str) -> None:
        """Note that `subject` raised, and the consequence `so`."""
        self.note(subject, f"raised {shortened(encodable(error_line(error)), LONGEST)}", so)

    def note(self, subject: str, fact: str, so: str) -> None:
        """Note what `subject` did, and the consequence `so`."""
        if subject not in self._noted:
            self._noted[subject] = Diagnostic(subject=subject, message=f"The {subject} {fact}; {so}.")
