"""Checks that may not run: what a rule denies to the subagent, no check does in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._config.tool_rules import has_tool
from ohm_subagents._orchestrator.admission.call_tools import rules_in_force
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents.contract.call_rules import RULED_TOOL
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from ohm_subagents._config.subagents import Unattended
    from ohm_subagents._orchestrator.admission.context import ResolvedProfile
    from ohm_subagents._orchestrator.admission.launches import Settings
    from ohm_subagents.contract.acceptance import Check


def refused_check(settings: Settings, resolved: ResolvedProfile, unattended: Unattended | None) -> OhmError | None:
    """Return why the checks of an item cannot run, or why a command among them may not; None if all may.

    Where a backend works on another machine, none runs; if they are required, no answer could ever be a success.
    A rule that denies a command of `bash` denies it to every check, whoever has written that, and so do ohm.json and
    the task above where they deny `bash` as a whole. What a model has written is a command of `bash` in every way: it
    also needs the tool, and nobody is asked about it.
    """
    accept, spec = settings.accept, settings.spec
    if accept is not None and accept.require and spec is not None and Capability.ATTACHES in spec.capabilities:
        return OhmError(
            code=ErrorCode.CHECKS_UNSUPPORTED,
            message=f"The checks are required, and backend '{spec.id}' works where they cannot run.",
            advice="Choose a backend of this machine, or leave out `require`: then they are `not_run`, and say why.",
        )
    commands = () if accept is None else tuple(one for one in accept.checks if one.kind == "run")
    for check in commands:
        why = _denial(check, settings, resolved, unattended)
        if why is not None:
            return OhmError(
                code=ErrorCode.PERMISSION_DENIED,
                message=f"The check '{check}' may not run: {why}.",
                advice="Leave the check out, or write one that the rules for `bash` allow; nothing was started.",
            )
    return None


def _denial(check: Check, settings: Settings, resolved: ResolvedProfile, unattended: Unattended | None) -> str | None:
    """Return what denies a command, as the end of a sentence."""
    tools, ceiling = settings.tools, settings.ceiling
    above = () if ceiling is None or not ceiling.holder else ceiling.denied
    denied = (*(() if resolved.own.tools is None else resolved.own.tools.denied), *above)
    if has_tool(denied, RULED_TOOL):
        return f"'{RULED_TOOL}' is denied to the subagent '{settings.profile.id}'"
    if check.by_model and not tools.gives(RULED_TOOL):
        return f"the subagent '{settings.profile.id}' does not have '{RULED_TOOL}', and a model has written the check"
    from ohm_subagents._policy.calls import judge_call  # noqa: PLC0415  most tasks have no checks

    rules = rules_in_force(tools, unattended)
    decision = judge_call(rules, RULED_TOOL, {"command": check.target}, cwd=settings.cwd)
    if decision.verdict == "deny":
        return f"{decision.source or 'a rule'} denies it: {decision.reason}"
    if decision.verdict == "ask" and check.by_model:
        return f"{decision.source or 'a rule'} asks about it: {decision.reason}"
    return None
