"""The meet of a subagent's tools with those of the run that starts it: a child never exceeds its parent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._config.tool_rules import common_tools, has_tool
from ohm_subagents.contract.diagnostics import TOOLLESS, Diagnostic
from ohm_subagents.contract.tool_ceiling import Delegation, ToolCeiling, rooted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ohm_subagents._policy.tools import LaterTools, ResolvedTools
    from ohm_subagents.contract.profile import Profile


def lowered(
    tools: ResolvedTools, ceiling: ToolCeiling, profile: Profile, *, given: Iterable[str] = ()
) -> ResolvedTools:
    """Return the tools under a ceiling, with a diagnostic on those that are lost.

    The tools of the call, `given`, are the caller's own functions and are kept.
    """
    kept = frozenset(given)
    names = tuple(name for name in tools.names if name in kept or _has(ceiling, name))
    later = _later(tools.later, ceiling)
    before, after = _all(tools.names, tools.later), _all(names, later)
    lost = [name for name in before if name not in after]
    return replace(
        tools,
        names=names,
        later=later,
        are_bounded=tools.are_bounded or ceiling.names is not None or bool(ceiling.denied),
        call_rules=tuple(dict.fromkeys((*tools.call_rules, *ceiling.call_rules))),
        diagnostics=(*tools.diagnostics, *_lost(lost, ceiling, profile, has_any=bool(after))),
    )


def met(first: ToolCeiling | None, second: ToolCeiling | None) -> ToolCeiling | None:
    """Return the ceiling of two: only what both allow."""
    if first is None or second is None or first == second:
        return first if second is None else second
    lists = [one.names for one in (first, second) if one.names is not None]
    return ToolCeiling(
        names=None if not lists else lists[0] if len(lists) == 1 else common_tools(*lists),
        denied=tuple(dict.fromkeys((*first.denied, *second.denied))),
        call_rules=tuple(dict.fromkeys((*first.call_rules, *second.call_rules))),
        holder=first.holder or second.holder,
    )


def delegation(
    profile: Profile,
    tools: ResolvedTools,
    above: ToolCeiling | None,
    *,
    delegate: Iterable[str],
    unasked: Iterable[str],
    cwd: Path,
) -> Delegation:
    """Return the ceilings of what a run starts; `unasked` are tools that a run has only if a list names them."""
    own = ToolCeiling(
        names=_all(tools.names, tools.later) if tools.are_bounded else None,
        denied=() if tools.later is None else tools.later.denied,
        call_rules=rooted(tools.call_rules, str(cwd)),
        holder=profile.id,
    )
    if not tools.are_bounded:
        has = _all(tools.names, tools.later)
        own = replace(own, denied=(*own.denied, *(name for name in unasked if not has_tool(has, name))))
    if above is not None:
        above = replace(above, call_rules=rooted(above.call_rules, str(cwd)))
    return Delegation(own=own, above=above, delegate=tuple(delegate))


def _has(ceiling: ToolCeiling, name: str) -> bool:
    return has_tool(ceiling.names, name) and not has_tool(ceiling.denied, name)


def _later(tools: LaterTools | None, ceiling: ToolCeiling) -> LaterTools | None:
    if tools is None:
        return None
    asked = tools.asked if ceiling.names is None else common_tools(tools.asked, ceiling.names)
    asked = tuple(name for name in asked if not has_tool(ceiling.denied, name))
    return replace(tools, asked=asked, denied=(*tools.denied, *ceiling.denied)) if asked else None


def _all(names: Sequence[str], later: LaterTools | None) -> tuple[str, ...]:
    return (*names, *(() if later is None else later.asked))


def _lost(names: Sequence[str], ceiling: ToolCeiling, profile: Profile, *, has_any: bool) -> tuple[Diagnostic, ...]:
    if not names:
        return ()
    quoted = ", ".join(f"'{name}'" for name in names)
    rest = "" if has_any else "; the subagent works without any tool"
    verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
    if not ceiling.holder:
        why = f"the call that started this left {them} out"
        return (Diagnostic(subject="tools", message=f"{quoted} {verb} not given: {why}{rest}.", severity="info"),)
    return (
        Diagnostic(
            subject="tools" if has_any else TOOLLESS,
            message=f"{quoted} {verb} not given: a subagent has at most the tools of the one that starts it, and "
            f"'{ceiling.holder}' lacks {them}{rest}.",
            advice=f"To give '{profile.id}' what its own configuration gives it, name it in 'delegate' of "
            f"'{ceiling.holder}'.",
        ),
    )
