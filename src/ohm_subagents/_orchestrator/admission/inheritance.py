"""The facts that an item takes over from the run that starts it, and from the session that it continues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._orchestrator.call_context import no_model
from ohm_subagents._policy.ceiling import met
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.call_context import CallContext, SharedClone
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.sandbox import SandboxMode
    from ohm_subagents.contract.tool_ceiling import ToolCeiling


class Inheritance(NamedTuple):
    """The most that the tools of an item may do, and the model of the task that calls."""

    model: Callable[[], ModelPattern | None] = no_model
    """Returns that model; None where it is not known."""
    ceiling: ToolCeiling | None = None
    """The ceiling; None without any."""
    granted: tuple[Diagnostic, ...] = ()
    """The grant by which it is not that of the run that starts it."""
    clone: SharedClone | None = None
    """The clone that the run works in which starts it; None for the files of nobody else."""
    by_subagent: bool = False
    """A subagent starts it, and no program or user."""
    sandbox: SandboxMode = "off"
    """The sandbox of the run that starts it."""


NOTHING_INHERITED: Final = Inheritance()


def inheritance(
    caller: CallContext | None, ceiling: ToolCeiling | None, profile: Profile, *, is_named: bool
) -> Inheritance:
    """Return what holds for a profile that `caller` starts in a session under `ceiling`.

    A profile that is not `is_named`, because it was made for the call, gets no grant.
    """
    if caller is None:
        return NOTHING_INHERITED if ceiling is None else Inheritance(ceiling=ceiling)
    base = Inheritance(
        caller.model, ceiling, clone=caller.clone, by_subagent=caller.task_id is not None, sandbox=caller.sandbox
    )
    if caller.passes is None:
        return NOTHING_INHERITED if base == NOTHING_INHERITED else base
    passes, wanted = caller.passes, fold_id(profile.id)
    is_granted = is_named and wanted in passes.delegate
    found = met(ceiling, passes.above if is_granted else passes.own)
    if not is_granted:
        return base._replace(ceiling=found)
    told = Diagnostic(
        subject="delegate",
        message=f"'{profile.id}' has the tools that its own configuration gives it: '{passes.own.holder}', "
        "which started this task, names it in 'delegate'.",
        severity="info",
    )
    return base._replace(ceiling=found, granted=(told,))
