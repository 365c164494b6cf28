"""The items of one start: all are planned before any is enrolled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.plan import Plan, plan
from ohm_subagents.contract.replies import ItemRejected
from ohm_subagents.contract.result import Err, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents.contract.commands import Start
    from ohm_subagents.contract.ids import SessionId


def plan_all(
    command: Start, context: AdmissionContext, *, is_busy: Callable[[SessionId], bool]
) -> list[Result[Plan, ItemRejected]]:
    """Plan each item of a start, or refuse it, in their order.

    A session is for one task at a time: two conversations at once would each miss what the other says.
    """
    claimed: set[SessionId] = set()

    def in_a_free_session(planned: Result[Plan, ItemRejected]) -> Result[Plan, ItemRejected]:
        if isinstance(planned, Err) or (session := planned.ok_value.item.session) is None:
            return planned
        admitted = planned.ok_value
        if session.id in claimed or is_busy(session.id):
            return Err(ItemRejected(item=admitted.item, profile=admitted.profile.id, error=refusals.busy(session.id)))
        claimed.add(session.id)
        return planned

    items = command.items
    if len(items) > 1:
        items = tuple(replace(item, is_one_shot=True) for item in items)
    return [in_a_free_session(plan(item, context)) for item in items]
