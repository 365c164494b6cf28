"""The limits and the budget in force for a profile: the precedence of their sources, and what a project may lower."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.limits import LimitSource
from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.limits import NO_BUDGET, NO_LIMITS, Budget, Ceiling, Clocks, Limits, LoopPolicy
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._config.subagents import SubagentEntry
    from ohm_subagents.contract.profile import Profile

_NO_CEILING: Final = Ceiling()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Everything that bounds a run and its task."""

    clocks: Clocks
    """The time of each run."""
    loop: LoopPolicy
    """The loop rules of each run."""
    budget: Budget
    """The budget of each task of the profile, with everything that it starts."""


def run_limits(
    profile: Profile,
    own: SubagentEntry,
    config: OhmConfig,
    *,
    limits: Limits | None = None,
    loop: LoopPolicy | None = None,
) -> Result[RunLimits, OhmError]:
    """Resolve the limits of a call: its `limits` and `loop`, `own` (`subagents.<id>`), the profile's file, `config`.

    A project's numbers lower all of it but the call's own. The budget of a call is held beside this one. Returns
    `task_config_load_failed` for a budget that cannot be understood.
    """
    if own.unclear:
        return Err(OhmError(code=ErrorCode.CONFIG_INVALID, message=own.unclear))
    sources = profile_limit_sources(profile, own, config)
    return Ok(
        RunLimits(
            clocks=resolved_limits(sources, limits or NO_LIMITS).resolved(),
            loop=loop or loop_policy(profile, own, config),
            budget=resolved_budget(sources),
        )
    )


def loop_policy(profile: Profile, own: SubagentEntry, config: OhmConfig) -> LoopPolicy:
    """Return the loop rules of a profile; its polling tools are those that any source names."""
    policy = config.subagents.loop.policy(own.loop)
    if not profile.polling:
        return policy
    return replace(policy, polling=tuple(dict.fromkeys((*policy.polling, *profile.polling))))


def profile_limit_sources(profile: Profile, own: SubagentEntry, config: OhmConfig) -> tuple[LimitSource, ...]:
    """Return the sources of a profile's limits: the first that sets a number counts, and ceilings only lower it.

    A source that sets no number is left out.
    """
    own_said, own_ceiling = own.sources
    common, common_ceiling = config.limit_sources
    ceiling = profile.ceiling or _NO_CEILING
    places = (
        own_said,
        LimitSource(by="profile", limits=profile.limits or NO_LIMITS, budget=profile.budget or NO_BUDGET),
        common,
        common_ceiling,
        own_ceiling,
        LimitSource(by="profile", limits=ceiling.limits, budget=ceiling.budget, is_ceiling=True),
    )
    return tuple(one for one in places if one.sets_any())


@lru_cache
def resolved_limits(sources: tuple[LimitSource, ...], call: Limits = NO_LIMITS) -> Limits:
    """Return the limits in force for a call that sets `call` itself."""
    standing = reduce(Limits.over, (one.limits for one in sources if not one.is_ceiling))
    said = call.over(standing)
    lowered = call.over(reduce(Limits.lowered, (one.limits for one in sources if one.is_ceiling), standing))
    if said.extend_ms is None and lowered.extend_ms is not None:
        # Only a project says how long an extension is: no longer than the one that follows from the others.
        follows = replace(lowered, extend_ms=None).resolved().extend_ms
        return replace(lowered, extend_ms=min(lowered.extend_ms, follows))
    return lowered


@lru_cache
def resolved_budget(sources: tuple[LimitSource, ...]) -> Budget:
    """Return the budget in force: `NO_BUDGET` itself if nothing is limited."""
    said = reduce(Budget.over, (one.budget for one in sources if not one.is_ceiling))
    budget = reduce(Budget.lowered, (one.budget for one in sources if one.is_ceiling), said)
    return NO_BUDGET if budget == NO_BUDGET else budget
