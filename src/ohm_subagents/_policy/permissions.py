"""May this profile run? The most restrictive opinion wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import Decision, fold_id
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import nearest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from ohm_subagents._config.permissions import Permissions
    from ohm_subagents.contract.profile import Profile


def effective_decision(
    *, profile: Profile, permissions: Permissions, opinions: Callable[[], Iterable[Decision]]
) -> Decision:
    """Return the decision in force: the first deny of these, in this order, or the rule that allows the profile.

    An internal profile is denied while routing to those is off, even if a rule allows it; then the rule of the
    configuration counts; then each of the `opinions` of plugins, which are asked for only if the rule allows it.
    """
    if is_hidden(profile, permissions):
        key = "subagents.permissions.allowInternalRouting"
        return Decision(verdict="deny", source=permissions.routing_source, reason=f"it is internal, and {key} is false")
    rule = permissions.decision(profile.id)
    if rule.verdict != "allow":
        return rule
    return next((one for one in opinions() if one.verdict != "allow"), rule)


def may_run(
    *, profile: Profile, permissions: Permissions, opinions: Callable[[], Iterable[Decision]]
) -> Result[Decision, OhmError]:
    """Return the effective decision, or the error that refuses a start.

    No plugin is asked where a rule denies. Returns `task_internal_subagent_hidden` for a
    hidden profile, and `task_permission_denied` for any other deny; the advice names the rule. The messages are fixed
    by the contract of `task`.
    """
    decision = effective_decision(profile=profile, permissions=permissions, opinions=opinions)
    if decision.verdict == "allow":
        return Ok(decision)
    return Err(_refusal(profile, permissions, decision))


def overruled(profile: Profile, permissions: Permissions, opinions: Iterable[Decision]) -> OhmError | None:
    """Return the error of the first plugin that denies a profile which the rules allow."""
    denied = next((one for one in opinions if one.verdict != "allow"), None)
    return None if denied is None else _refusal(profile, permissions, denied)


def _refusal(profile: Profile, permissions: Permissions, decision: Decision) -> OhmError:
    if is_hidden(profile, permissions):
        source = permissions.routing_source
        return OhmError(
            code=ErrorCode.INTERNAL_SUBAGENT_HIDDEN,
            message=f"Subagent '{profile.id}' is internal and unavailable by current policy",
            advice="Set subagents.permissions.allowInternalRouting to true in ohm.json to allow it"
            + (f"; {source} says false." if source != "default" else "."),
        )
    because = f" ({decision.reason})" if decision.reason else ""
    return OhmError(
        code=ErrorCode.PERMISSION_DENIED,
        message=f"Subagent '{profile.id}' is denied by task permission policy",
        advice=f"The deny comes from {decision.source}{because}; only a change there lifts it.",
    )


def is_hidden(profile: Profile, permissions: Permissions) -> bool:
    """Return True if the profile is internal, and routing to such is off."""
    return profile.internal and not permissions.allow_internal_routing


def visible(profiles: Iterable[Profile], permissions: Permissions) -> tuple[Profile, ...]:
    """Return the profiles that may be shown: internal ones only while routing to them is allowed."""
    return tuple(profile for profile in profiles if not is_hidden(profile, permissions))


def unmatched(
    permissions: Permissions,
    profile_ids: Iterable[str],
    *,
    unlisted: Collection[str] = (),
    hidden: Iterable[str] = (),
) -> tuple[Diagnostic, ...]:
    """Name the rules that are for no profile; a deny that is a misspelt id is an error if that profile may run.

    `unlisted` are names that may be ruled, though they are no subagents; `hidden` are profiles that may not run
    whatever the rules say.
    """
    return tuple(one for one, _ in _unmatched(permissions, profile_ids, unlisted, frozenset(map(fold_id, hidden))))


def misspelt_denials(
    profile: Profile, permissions: Permissions, profile_ids: Iterable[str], *, unlisted: Collection[str] = ()
) -> tuple[Diagnostic, ...]:
    """Return those diagnostics of `unmatched` whose rule was perhaps meant to deny this profile."""
    meant = fold_id(profile.id)
    return tuple(one for one, denied in _unmatched(permissions, profile_ids, unlisted) if denied == meant)


def _unmatched(
    permissions: Permissions,
    profile_ids: Iterable[str],
    unlisted: Collection[str],
    hidden: Collection[str] = (),
) -> Iterator[tuple[Diagnostic, str | None]]:
    """Yield a diagnostic for each rule without a profile, and the folded id that a deny was perhaps meant for."""
    available = {fold_id(one): one for one in sorted(profile_ids) if one not in unlisted}
    known = {*available, *map(fold_id, unlisted)}
    for written, rule in permissions.subagents.items():
        if written in known:
            continue
        near = nearest_name(written, available)
        may_run_anyway = near is not None and near not in hidden and permissions.decision(near).verdict == "allow"
        meant = near if rule.verdict == "deny" and may_run_anyway else None
        hint = "" if near is None else f"Did you mean '{available[near]}'? "
        allowed = f"; it denies nothing, and '{available[meant]}' may run" if meant else ""
        yield (
            Diagnostic(
                subject=f"subagents.permissions.subagents.{written}",
                message=f"{rule.source}: the rule for '{written}' names no subagent{allowed}. {hint}"
                f"Available: {', '.join(available.values())}.",
                severity="error" if meant else "warning",
            ),
            meant,
        )
