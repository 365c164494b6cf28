"""The items of one start: all are planned before any is enrolled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.new_tasks import newest_run
from ohm_subagents._orchestrator.admission.plan import Plan, plan
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.replies import ItemRejected
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._config.subagents import Subagents
    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents._orchestrator.call_context import CallContext
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.commands import Start
    from ohm_subagents.contract.ids import SessionId


def plan_all(
    command: Start,
    context: AdmissionContext,
    *,
    caller: CallContext,
    is_busy: Callable[[SessionId], bool],
    store: Store,
) -> list[Result[Plan, ItemRejected]]:
    """Plan each item of a start, or refuse it, in their order.

    A session is for one task at a time: two conversations at once would each miss what the other says. Its newest task
    is in the store.
    """
    items, told = command.items, _unheeded(command, context.config.subagents)
    if len(items) > 1:
        items = tuple(replace(item, is_one_shot=True) for item in items)
    claimed: set[SessionId] = set()
    plans: list[Result[Plan, ItemRejected]] = []
    for item in items:
        former = newest_run(store, item)
        planned, session = plan(item, context, caller=caller, former=former), item.session
        if session is not None and isinstance(planned, Ok):
            if session.id in claimed or is_busy(session.id):
                profile = planned.ok_value.profile.id
                planned = Err(ItemRejected(item=item, profile=profile, error=refusals.busy(session.id)))
            claimed.add(session.id)
        if told is not None and isinstance(planned, Ok):
            known = planned.ok_value.diagnostics
            planned = Ok(planned.ok_value._replace(diagnostics=(told, *known)))
        plans.append(planned)
    return plans


def background_after_ms(command: Start, subagents: Subagents) -> int | None:
    """Return the time after which a start that waits goes on in the background; None for never."""
    return _wanted_ms(command, subagents) if command.may_go_on or command.by_program else None


def _wanted_ms(command: Start, subagents: Subagents) -> int | None:
    """Return the time that the call names; for one of a model, else the configured one."""
    is_configured = not command.by_program and subagents.async_start == "allow"
    configured = subagents.background_after_ms if is_configured else None
    return configured if command.background_after_ms is None else command.background_after_ms


def _unheeded(command: Start, subagents: Subagents) -> Diagnostic | None:
    """Return the diagnostic of a time after which a start of this kind does not go on in the background."""
    goes_on = command.background or command.may_go_on or command.by_program
    if goes_on or _wanted_ms(command, subagents) is None:
        return None
    name = "'subagents.backgroundAfterMs'" if command.background_after_ms is None else "'background_after_ms'"
    message = f"{name} counts for nothing: a call of this tool ends when its tasks have ended."
    return Diagnostic(subject="subagents.backgroundAfterMs", message=message)
