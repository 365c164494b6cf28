"""The items of one start: all are planned before any is enrolled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.plan import Plan, plan
from ohm_subagents.contract.replies import ItemRejected
from ohm_subagents.contract.result import Err, Ok, Result

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
    items = command.items
    if len(items) > 1:
        items = tuple(replace(item, is_one_shot=True) for item in items)
    claimed: set[SessionId] = set()
    plans: list[Result[Plan, ItemRejected]] = []
    for item in items:
        planned, session = plan(item, context), item.session
        if session is not None and isinstance(planned, Ok):
            if session.id in claimed or is_busy(session.id):
                profile = planned.ok_value.profile.id
                planned = Err(ItemRejected(item=item, profile=profile, error=refusals.busy(session.id)))
            claimed.add(session.id)
        plans.append(planned)
    return plans
