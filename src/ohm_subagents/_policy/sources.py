"""Who says how much a profile may take, and what a project's files say in vain."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING

from pydantic.alias_generators import to_camel

from ohm_subagents._policy.allowance import resolved_budget, resolved_limits, voices
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.limits import Budget, Limits
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ohm_subagents._config.load import LoadedConfig
    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._policy.allowance import Voice
    from ohm_subagents.contract.profile import Profile

_FOLLOWS = "follows from idleMs and softMs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedLimit:
    """One number in force and who set it: `limits.capMs`, 60000, `set by the profile finder.md`."""

    key: str
    value: int | Decimal
    source: str


def explain_limits(profile: Profile, loaded: LoadedConfig) -> tuple[ExplainedLimit, ...]:
    """Every clock of a profile's runs and every number of its tasks' budget."""
    heard = _voices(profile, loaded.config)
    limits = resolved_limits(heard)
    filled = replace(limits, extend_ms=limits.resolved().extend_ms)
    return tuple(
        ExplainedLimit(key=key, value=value, source=_source(key, value, heard, profile, loaded))
        for key, value in (*_numbers(filled), *_numbers(resolved_budget(heard)))
    )


def void_ceilings(loaded: LoadedConfig, profiles: Iterable[Profile]) -> tuple[Diagnostic, ...]:
    """Names each number of a project's file that is above what stands without it."""
    return tuple(found for profile in profiles for found in _void(profile, loaded))


def _void(profile: Profile, loaded: LoadedConfig) -> Iterator[Diagnostic]:
    heard = _voices(profile, loaded.config)
    limits = reduce(Limits.over, (one.limits for one in heard if not one.lowers))
    stands = dict(_numbers(replace(limits, extend_ms=limits.resolved().extend_ms)))
    stands |= dict(_numbers(reduce(Budget.over, (one.budget for one in heard if not one.lowers))))
    for voice in heard:
        for key, value in _spoken(voice) if voice.lowers and voice.by != "common" else ():
            if key in stands and value > stands[key]:
                is_own = voice.by == "subagent"
                written = f"subagents.{profile.id}.{key}" if is_own else key
                place = loaded.origin(_own(profile, key)) if is_own else profile.source
                yield Diagnostic(
                    subject=written,
                    message=f"{place}: '{written}' is {_text(value)}, which has no effect: a project's file may say at "
                    f"most {_text(stands[key])} ({_source(key, stands[key], heard, profile, loaded)}).",
                )


def _voices(profile: Profile, config: OhmConfig) -> tuple[Voice, ...]:
    return voices(profile, config.subagents.entry(profile.id), config.common_limits())


def _source(key: str, value: int | Decimal, heard: tuple[Voice, ...], profile: Profile, loaded: LoadedConfig) -> str:
    voice = next((one for one in heard if (key, value) in _spoken(one)), None)
    if voice is None:
        return _FOLLOWS
    match voice.by:
        case "profile":
            file = profile.source if voice.lowers else profile.overrides or profile.source
            return f"set by the profile {file or profile.id}"
        case "subagent":
            return f"set by subagents.{profile.id}.{key} ({loaded.origin(_own(profile, key))})"
        case "common":
            common = "backendTimeoutMs" if key == "limits.softMs" else f"subagents.{key}"
            return f"set by {common} ({loaded.origin(common)})"


def _own(profile: Profile, key: str) -> str:
    return f"subagents.profiles.{fold_id(profile.id)}.{key}"


def _spoken(voice: Voice) -> tuple[tuple[str, int | Decimal], ...]:
    return (*_numbers(voice.limits), *_numbers(voice.budget))


def _numbers(part: Limits | Budget) -> Iterator[tuple[str, int | Decimal]]:
    """The numbers that are set, by the key that they have in a file."""
    section = "limits" if isinstance(part, Limits) else "budget"
    for one in fields(part):
        value = getattr(part, one.name)
        if isinstance(value, int | Decimal):
            yield f"{section}.{to_camel(one.name)}", value


def _text(value: int | Decimal) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
