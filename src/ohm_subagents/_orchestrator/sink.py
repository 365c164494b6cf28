"""The sink of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._orchestrator.door import MisfitError, admitted
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised, UsageAdded

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.guard import RunGuard
    from ohm_subagents._orchestrator.live import LiveTask
    from ohm_subagents.contract.events import RunEvent

MAX_NOTES: Final = 100
"""So many diagnostics of one run are kept."""
TOO_MANY: Final = Diagnostic(
    subject="diagnostics", message=f"The backend said more than this: {MAX_NOTES} diagnostics of a run are kept."
)
BENT: Final = Diagnostic(
    subject="usage",
    message="The backend reported usage that cannot be: each count is taken as the nearest whole number from 0 on.",
)


class RunSink:
    """Records what a backend emits; deaf once the run has returned."""

    __slots__ = ("_guard", "_is_bent", "_live", "_notes")

    def __init__(self, live: LiveTask, guard: RunGuard) -> None:
        self._live: LiveTask | None = live
        self._guard = guard
        self._notes = 0
        self._is_bent = False

    def emit(self, event: RunEvent) -> None:
        """Record one fact about the run; what is none is refused before it can touch the task."""
        live = self._live
        try:
            sound = admitted(event, _as_it_is if live is None else live.told)
        except MisfitError as misfit:
            raise TypeError(*misfit.args) from None
        if live is None or self._guard.ignores(sound):
            return
        match sound:
            case DiagnosticRaised(diagnostic=diagnostic):
                self._note(live, diagnostic)
                return
            case UsageAdded() if not self._is_bent and sound != event:
                self._is_bent = True
                self._note(live, BENT)
            case _:
                pass
        live.record(sound)
        self._guard.heard(sound)

    def close(self) -> None:
        """The run has returned."""
        self._live = None

    def _note(self, live: LiveTask, diagnostic: Diagnostic) -> None:
        self._notes += 1
        if self._notes <= MAX_NOTES:
            live.record(DiagnosticRaised(diagnostic=diagnostic))
        elif self._notes == MAX_NOTES + 1:
            live.record(DiagnosticRaised(diagnostic=TOO_MANY))


def _as_it_is(text: str) -> str:
    return text
