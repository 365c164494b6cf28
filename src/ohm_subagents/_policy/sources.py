"""The origin of each limit of a profile, and the limits of a project that have no effect."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Final

from pydantic.alias_generators import to_camel

from ohm_subagents._policy.allowance import profile_limit_sources, resolved_budget, resolved_limits
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.limits import Budget, Limits
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ohm_subagents._config.limits import LimitSource
    from ohm_subagents._config.load import LoadedConfig
    from ohm_subagents.contract.profile import Profile

_FOLLOWS: Final = "follows from idleMs and softMs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedLimit:
    """One limit in force and the place that set it."""

    key: str
    """As in a file: `limits.capMs`, `budget.costUsd`."""
    value: int | Decimal
    """In milliseconds, US dollars, or how many."""
    source: str
    """In words: `set by the profile finder.md`."""


def explain_limits(profile: Profile, loaded: LoadedConfig) -> tuple[ExplainedLimit, ...]:
    """Explain every limit of a profile's runs, and every number of its tasks' budget."""
    sources = _sources(profile, loaded)
    numbers = (*_numbers(_filled(resolved_limits(sources))), *_numbers(resolved_budget(sources)))
    return tuple(
        ExplainedLimit(key=key, value=value, source=_origin(key, value, sources, profile, loaded))
        for key, value in numbers
    )


def void_ceilings(loaded: LoadedConfig, profiles: Iterable[Profile]) -> tuple[Diagnostic, ...]:
    """Name each number of a project's file that is above the one in force without it."""
    return tuple(found for profile in profiles for found in _void(profile, loaded))


def _void(profile: Profile, loaded: LoadedConfig) -> Iterator[Diagnostic]:
    sources = _sources(profile, loaded)
    said = [one for one in sources if not one.is_ceiling]
    in_force = dict(_numbers(_filled(reduce(Limits.over, (one.limits for one in said)))))
    in_force |= dict(_numbers(reduce(Budget.over, (one.budget for one in said))))
    for source in sources:
        for key, value in _set(source) if source.is_ceiling and source.by != "common" else ():
            if key in in_force and value > in_force[key]:
                is_own = source.by == "subagent"
                written = f"subagents.{profile.id}.{key}" if is_own else key
                place = loaded.origin(_own(profile, key)) if is_own else profile.source
                yield Diagnostic(
                    subject=written,
                    message=f"{place}: '{written}' is {_text(value)}, which has no effect: a project's file may say at "
                    f"most {_text(in_force[key])} ({_origin(key, in_force[key], sources, profile, loaded)}).",
                )


def _sources(profile: Profile, loaded: LoadedConfig) -> tuple[LimitSource, ...]:
    return profile_limit_sources(profile, loaded.config.subagents.entry(profile.id), loaded.config)


def _filled(limits: Limits) -> Limits:
    return replace(limits, extend_ms=limits.resolved().extend_ms)


def _origin(
    key: str, value: int | Decimal, sources: tuple[LimitSource, ...], profile: Profile, loaded: LoadedConfig
) -> str:
    source = next((one for one in sources if (key, value) in _set(one)), None)
    if source is None:
        return _FOLLOWS
    match source.by:
        case "profile":
            below = "" if profile.ceiling is None or source.is_ceiling else profile.ceiling.below
            file = below or profile.source
            return f"set by the profile {file or profile.id}"
        case "subagent":
            return f"set by subagents.{profile.id}.{key} ({loaded.origin(_own(profile, key))})"
        case "common":
            common = "backendTimeoutMs" if key == "limits.softMs" else f"subagents.{key}"
            return f"set by {common} ({loaded.origin(common)})"


def _own(profile: Profile, key: str) -> str:
    return f"subagents.profiles.{fold_id(profile.id)}.{key}"


def _set(source: LimitSource) -> tuple[tuple[str, int | Decimal], ...]:
    return (*_numbers(source.limits), *_numbers(source.budget))


def _numbers(part: Limits | Budget) -> Iterator[tuple[str, int | Decimal]]:
    """Yield the numbers that are set, by the key that they have in a file."""
    section = "limits" if isinstance(part, Limits) else "budget"
    for one in fields(part):
        value = getattr(part, one.name)
        if isinstance(value, int | Decimal):
            yield f"{section}.{to_camel(one.name)}", value


def _text(value: int | Decimal) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
