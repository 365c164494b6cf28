"""How much may a profile's run and task take? The order of who says it, and what a project's files may lower."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Final, Literal

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.limits import Budget, Clocks, Limits, LoopPolicy
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._config.schema import ProfileSettings
    from ohm_subagents.contract.profile import Profile

_NO_LIMITS: Final = Limits()
_NO_BUDGET: Final = Budget()
Speaker = Literal["subagent", "profile", "common"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """What one place says: `subagents.<id>`, the profile's file, or the settings for every subagent.

    A voice that `lowers` is a project's, and counts only where it is lower than what the others say.
    """

    by: Speaker
    limits: Limits = _NO_LIMITS
    budget: Budget = _NO_BUDGET
    lowers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a run may take, when it goes in circles, and what each task of its profile may spend with all it starts."""

    clocks: Clocks
    loop: LoopPolicy
    budget: Budget


def allowance(
    profile: Profile,
    own: ProfileSettings,
    common: tuple[Limits, Limits],
    *,
    limits: Limits | None = None,
    loop: LoopPolicy | None = None,
) -> Result[Allowance, OhmError]:
    """The call's `limits` and `loop`, then `own` (`subagents.<id>`), the profile's file, `common`, the defaults.

    What a project's files say lowers all of it but the call's own word. The budget of a call is no concern of a
    profile: it is held beside this one. Returns `task_config_load_failed` where nobody knows what may be spent.
    """
    if own.budget_unclear:
        return Err(OhmError(code=ErrorCode.CONFIG_INVALID, message=own.budget_unclear))
    heard = voices(profile, own, common)
    return Ok(
        Allowance(
            clocks=resolved_limits(heard, limits or _NO_LIMITS).resolved(),
            loop=loop or loop_policy(profile, own),
            budget=resolved_budget(heard),
        )
    )


def loop_policy(profile: Profile, own: ProfileSettings) -> LoopPolicy:
    """When a run of a profile goes in circles; the tools that may repeat are all that anybody names."""
    if not profile.polling:
        return own.loop
    return replace(own.loop, polling=tuple(dict.fromkeys((*own.loop.polling, *profile.polling))))


def voices(profile: Profile, own: ProfileSettings, common: tuple[Limits, Limits]) -> tuple[Voice, ...]:
    """Who says something about a profile: the first word counts, then whatever lowers it."""
    return (
        Voice(by="subagent", limits=own.limits, budget=own.budget),
        Voice(by="profile", limits=profile.limits or _NO_LIMITS, budget=profile.budget or _NO_BUDGET),
        Voice(by="common", limits=common[0]),
        Voice(by="common", limits=common[1], lowers=True),
        Voice(by="subagent", limits=own.limits_at_most, budget=own.budget_at_most, lowers=True),
        Voice(
            by="profile",
            limits=profile.limits_at_most or _NO_LIMITS,
            budget=profile.budget_at_most or _NO_BUDGET,
            lowers=True,
        ),
    )


@lru_cache
def resolved_limits(heard: tuple[Voice, ...], call: Limits = _NO_LIMITS) -> Limits:
    """The clocks that all of them allow a call that says this."""
    standing = reduce(Limits.over, (one.limits for one in heard if not one.lowers))
    said = call.over(standing)
    lowered = call.over(reduce(Limits.lowered, (one.limits for one in heard if one.lowers), standing))
    if said.extend_ms is None and lowered.extend_ms is not None:
        # Nobody but a project says how long an extension is: no longer than the one that follows from the others.
        follows = replace(lowered, extend_ms=None).resolved().extend_ms
        return replace(lowered, extend_ms=min(lowered.extend_ms, follows))
    return lowered


@lru_cache
def resolved_budget(heard: tuple[Voice, ...]) -> Budget:
    """The budget that all of them allow."""
    said = reduce(Budget.over, (one.budget for one in heard if not one.lowers))
    return reduce(Budget.lowered, (one.budget for one in heard if one.lowers), said)
