"""A launch record for people: one line for what was asked, and what bounds it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from ohm_subagents._views.quantities import duration_text
from ohm_subagents.contract.call_rules import ANY_CALL
from ohm_subagents.contract.limits import FOREVER_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.call_rules import CallRules
    from ohm_subagents.contract.launch import LaunchRecord
    from ohm_subagents.contract.limits import Budget
    from ohm_subagents.contract.tool_ceiling import ToolCeiling


def launch_lines(launch: LaunchRecord) -> list[str]:
    """Write a launch record, a line for each kind of setting; what is not set is left out."""
    return [f"sha256 {launch.digest}", *(f"{name} {value}" for name, value in _settings(launch) if value)]


def _settings(launch: LaunchRecord) -> Iterator[tuple[str, str]]:
    yield "profile", f"{launch.profile}, instructions sha256 {launch.instructions[:12]}"
    yield "backend", launch.backend
    yield "model", f"{launch.model or 'as the backend chooses'}{', strict' if launch.strict_model else ''}"
    yield "fallback", ", then ".join(map(str, launch.fallback))
    yield "tools", ", ".join(launch.tools) or "none"
    yield "rules", "; ".join(map(_rules, launch.call_rules))
    yield "ceiling", "" if launch.ceiling is None else _ceiling(launch.ceiling)
    yield "sandbox", "" if launch.sandbox == "off" else launch.sandbox
    yield "allowed by", launch.permission
    its_own = "" if launch.isolation == "none" else ", in a clone of it"
    yield "cwd", f"{launch.cwd}{f', in the clone of {launch.clone_of}' if launch.clone_of else its_own}"
    yield "land", "" if launch.land == "never" else launch.land
    yield "accept", "" if launch.accept is None else f"{launch.accept}"
    yield "limits", ", ".join(_limits(launch))
    yield "budget", ", ".join(_set(launch.budget))
    versions = {**launch.versions, **launch.programs}
    yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items())


def _rules(rules: CallRules) -> str:
    said = [f"only {', '.join(rules.allow)}"] if rules.allow is not None else []
    said += (
        [f"asks about {', '.join('every call' if one == ANY_CALL else one for one in rules.ask)}"] if rules.ask else []
    )
    said += [f"not {', '.join(rules.deny)}"] if rules.deny else []
    return f"{rules.tool}: {', '.join(said)}"


def _ceiling(ceiling: ToolCeiling) -> str:
    tools = "any tool" if ceiling.names is None else ", ".join(ceiling.names) or "no tool"
    denied = f", not {', '.join(ceiling.denied)}" if ceiling.denied else ""
    holder = f" of '{ceiling.holder}'" if ceiling.holder else ""
    return "; ".join([f"that{holder}: {tools}{denied}", *map(_rules, ceiling.call_rules)])


def _limits(launch: LaunchRecord) -> Iterator[str]:
    for each in fields(launch.limits):
        value = getattr(launch.limits, each.name)
        if isinstance(value, int) and value < FOREVER_MS:
            yield f"{each.name.removesuffix('_ms')} {duration_text(value)}"


def _set(budget: Budget) -> Iterator[str]:
    for each in fields(budget):
        value = getattr(budget, each.name)
        if value is not None:
            yield f"{each.name} {value}"
