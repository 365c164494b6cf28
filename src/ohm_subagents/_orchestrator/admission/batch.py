"""The items of one start: planned together before any is enrolled, so that one of them can refuse the whole call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.plan import Plan, plan
from ohm_subagents.contract.commands import Refused, Start
from ohm_subagents.contract.result import Err, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import SessionId


class Batch:
    """The items of one start, each planned or refused.

    Fields:
        plans: one an item, in their order.
        objection: the error that refuses the whole call.
    """

    def __init__(self, command: Start, context: AdmissionContext, *, is_busy: Callable[[SessionId], bool]) -> None:
        self._is_busy = is_busy
        self._claimed: set[SessionId] = set()
        is_one_of_many = len(command.items) > 1
        items = [replace(item, is_one_shot=True) for item in command.items] if is_one_of_many else command.items
        self.plans = [self._in_a_free_session(plan(item, context)) for item in items]
        self.objection = self._first_of(command.abort_on)

    def _first_of(self, codes: tuple[str, ...]) -> OhmError | None:
        """The refusal that refuses all: that with the code which comes first."""
        errors = [planned.err_value.error for planned in self.plans if isinstance(planned, Err)]
        return next((error for code in codes for error in errors if error.code == code), None)

    def _in_a_free_session(self, planned: Result[Plan, Refused]) -> Result[Plan, Refused]:
        """Two conversations in one session at once would each miss what the other says."""
        if isinstance(planned, Err) or (session := planned.ok_value.item.session_id) is None:
            return planned
        if session in self._claimed or self._is_busy(session):
            admitted = planned.ok_value
            return Err(Refused(item=admitted.item, profile=admitted.profile.id, error=refusals.busy(session)))
        self._claimed.add(session)
        return planned
