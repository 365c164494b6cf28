"""The sink of one run: what its backend emits is checked, recorded, and seen by its guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._orchestrator.run.intake import InvalidValueError, checked_event
from ohm_subagents._orchestrator.run.served_model import ServedModel
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import DiagnosticRaised, ToolStarted, UsageAdded
from ohm_subagents.contract.model_route import RouteResolved

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.plan import Plan
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

    __slots__ = ("_guard", "_has_rounded", "_models", "_notes", "_plan", "_record")

    def __init__(self, record: TaskRecord, guard: RunGuard, plan: Plan) -> None:
        self._plan = plan
        self._models: ServedModel | None = None
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
        if record is None:
            return
        if self._guard.ignores(sound):
            if isinstance(sound, ToolStarted):
                self._guard.charge_ignored_call()
            return
        match sound:
            case DiagnosticRaised(diagnostic=diagnostic):
                self._note(record, diagnostic)
                return
            case RouteResolved(program=program, program_version=version) if program and version:
                self._compare_program(record, program, version)
            case UsageAdded():
                if sound is not event and sound != event and not self._has_rounded:
                    self._has_rounded = True
                    self._note(record, ROUNDED_USAGE)
                sound = self._guard.gate.uncounted(sound)
            case _:
                pass
        record.add(sound)
        self._guard.on_event(sound)
        if isinstance(sound, RouteResolved):
            self._compare(record, sound)

    def close(self) -> None:
        """Ignore what comes from now on: the run has returned."""
        self._record = None

    def _compare(self, record: TaskRecord, event: RouteResolved) -> None:
        """Tell of another model than the one that was asked for, or stop the run."""
        if self._models is None:
            self._models = ServedModel(self._plan)
        match self._models.check(event, record.task.route):
            case Diagnostic() as diagnostic:
                self._note(record, diagnostic)
            case OhmError() as error:
                self._guard.mismatched(error)
            case None:
                pass

    def _compare_program(self, record: TaskRecord, program: str, version: str) -> None:
        """Tell of another version than the one that has run the task, or the one that it continues, before."""
        former = "" if record.task.launch is None else record.task.launch.programs.get(program, "")
        if former not in {"", version}:
            changed = f"{program} {version} goes on with it (was {former})."
            self._note(record, Diagnostic(subject="session", message=changed, severity="info"))

    def _note(self, record: TaskRecord, diagnostic: Diagnostic) -> None:
        self._notes += 1
        if self._notes <= MAX_NOTES:
            record.add(DiagnosticRaised(diagnostic=diagnostic))
        elif self._notes == MAX_NOTES + 1:
            record.add(DiagnosticRaised(diagnostic=TOO_MANY))


def _as_it_is(text: str) -> str:
    return text
