"""The sink of one run: what its backend emits is checked, recorded, and seen by its guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._orchestrator.run.intake import InvalidValueError, checked_event
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised, UsageAdded

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.run.guard import RunGuard
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents.contract.events import RunEvent

MAX_NOTES: Final = 100
"""The number of diagnostics of one run that are kept."""
TOO_MANY: Final = Diagnostic(
    subject="diagnostics", message=f"The backend said more than this: {MAX_NOTES} diagnostics of a run are kept."
)
ROUNDED_USAGE: Final = Diagnostic(
    subject="usage",
    message="The backend reported usage that cannot be: each count is taken as the nearest whole number from 0 on.",
)


class RunSink:
    """Records what a backend emits, until the run has returned."""

    __slots__ = ("_guard", "_has_rounded", "_notes", "_record")

    def __init__(self, record: TaskRecord, guard: RunGuard) -> None:
        self._record: TaskRecord | None = record
        self._guard = guard
        self._notes = 0
        self._has_rounded = False

    def emit(self, event: RunEvent) -> None:
        """Record one fact about the run; raise `TypeError` for anything else."""
        record = self._record
        try:
            sound = checked_event(event, _as_it_is if record is None else record.redact)
        except InvalidValueError as invalid:
            raise TypeError(*invalid.args) from None
        if record is None or self._guard.ignores(sound):
            return
        match sound:
            case DiagnosticRaised(diagnostic=diagnostic):
                self._note(record, diagnostic)
                return
            case UsageAdded() if not self._has_rounded and sound != event:
                self._has_rounded = True
                self._note(record, ROUNDED_USAGE)
            case _:
                pass
        record.add(sound)
        self._guard.on_event(sound)

    def close(self) -> None:
        """Ignore what comes from now on: the run has returned."""
        self._record = None

    def _note(self, record: TaskRecord, diagnostic: Diagnostic) -> None:
        self._notes += 1
        if self._notes <= MAX_NOTES:
            record.add(DiagnosticRaised(diagnostic=diagnostic))
        elif self._notes == MAX_NOTES + 1:
            record.add(DiagnosticRaised(diagnostic=TOO_MANY))


def _as_it_is(text: str) -> str:
    return text
