"""Which child tools does a profile get? (house 9.7)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents.contract.child_tools import CHILD_TOOLS
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import ToolPolicy
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTools:
    """The names in canonical order, and the names asked for that do not exist."""

    names: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def resolve_tools(
    policy: ToolPolicy, override: ToolPolicy | None, *, offered: Iterable[str] = ()
) -> Result[ResolvedTools, OhmError]:
    """The tools of a profile's policy under the configuration's override; `offered` are those that plugins bring.

    An override with an allowed list replaces the profile's policy; one that only denies takes tools away from it.
    A tool that one policy both allows and denies is `profile_invalid` or `task_config_load_failed`, whoever says so.
    """
    for one, code, owner in (
        (policy, ErrorCode.PROFILE_INVALID, "The profile"),
        (override, ErrorCode.CONFIG_INVALID, "The configuration"),
    ):
        both = sorted(set(one.allowed or ()) & set(one.denied)) if one else []
        if both:
            return Err(
                OhmError(
                    code=code,
                    message=f"{owner} both allows and denies the tool {_quoted(both)}.",
                    advice="Name each tool in one of the two lists.",
                )
            )
    available = tuple(dict.fromkeys((*CHILD_TOOLS, *offered)))
    named = ((policy, "The profile"), (override, "The configuration"))
    diagnostics = tuple(_unknown(one, owner, available) for one, owner in named if one and _strangers(one, available))
    in_force = _combined(policy, override)
    wanted = available if in_force.allowed is None else in_force.allowed
    names = tuple(name for name in available if name in wanted and name not in in_force.denied)
    return Ok(ResolvedTools(names=names, diagnostics=diagnostics))


def _combined(policy: ToolPolicy, override: ToolPolicy | None) -> ToolPolicy:
    if override is None:
        return policy
    if override.allowed is not None:
        return override
    return ToolPolicy(allowed=policy.allowed, denied=(*policy.denied, *override.denied))


def _strangers(policy: ToolPolicy, available: tuple[str, ...]) -> list[str]:
    return sorted({*(policy.allowed or ()), *policy.denied} - {*available})


def _unknown(policy: ToolPolicy, owner: str, available: tuple[str, ...]) -> Diagnostic:
    names = _strangers(policy, available)
    verb = "is no child tool and is" if len(names) == 1 else "are no child tools and are"
    return Diagnostic(
        subject="tools",
        message=f"{owner} names {_quoted(names)}, which {verb} left out. Available: {', '.join(available)}.",
    )


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
