"""Resolve the child tools of a profile: its lists, under the rules of the configuration.

`denied_tools` says who may deny a tool. What a tool may do once it is given is no matter of policy, but for the actions
that an agent profile names (`_plugins/suites/restraint.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents._config.tool_rules import WILDCARD, ToolRules, common_tools, fold_tool, has_tool
from ohm_subagents.contract.call_rules import RULED_TOOL, CallRules, is_call_rule
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import CHILD_TOOLS, ToolPolicy
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterTools:
    """The tools that a profile names of sources: servers that are asked for their tools before a run."""

    sources: tuple[str, ...]
    """The prefixes of the sources that may have them."""
    asked: tuple[str, ...]
    """The names, and the patterns with `*`, that the lists give."""
    denied: tuple[str, ...]
    """The names and patterns that they take away."""

    def gives(self, name: str) -> bool:
        """Return True if the lists give a tool of a source."""
        return has_tool(self.asked, name) and not has_tool(self.denied, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTools:
    """The child tools of a profile."""

    names: tuple[str, ...]
    """Their names, in canonical order."""
    are_bounded: bool
    """True if the profile or the configuration limits the tools: then a backend gives no others."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The tools that were asked for and are not given."""
    call_rules: tuple[CallRules, ...] = ()
    """The rules for the calls of the tools; a call has to pass all of them."""
    later: LaterTools | None = None
    """The tools of sources that are named, which `names` has not; None for none."""

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the names, and those and the patterns that are asked of sources."""
        return self.names if self.later is None else tuple(dict.fromkeys((*self.names, *self.later.asked)))


def resolve_tools(
    policy: ToolPolicy,
    rules: ToolRules | None,
    *,
    offered: Iterable[str] = (),
    only_if_named: Iterable[str] = (),
    sources: Iterable[str] = (),
    is_agent: bool = False,
) -> Result[ResolvedTools, OhmError]:
    """Resolve the tools of a profile's policy under the configuration's rules; `offered` are those of plugins.

    Of these, `only_if_named` are given only where a list has them; a profile without a list has every other tool.
    `sources` are the prefixes of tools that are known only before a run, which too are given only where a list has
    them. A profile that `is_agent` keeps its order, and names that only a command-line agent may know. The
    configuration only takes tools away from it: its rules may be meant for a subagent of the same name.

    Returns `profile_invalid` for a tool that the profile both allows and denies, and `task_config_load_failed` for
    rules that cannot be understood.
    """
    rules = rules or ToolRules()
    fault = _fault(policy, rules)
    if fault is not None:
        return Err(fault)
    users = rules.allowed
    if is_agent:
        rules = rules.at_most_these()
    known = tuple(dict.fromkeys((*CHILD_TOOLS, *offered)))
    prefixes = tuple(sources)
    available = _with_its_own(known, policy, rules, prefixes) if is_agent else known
    unasked = tuple(only_if_named)
    unknown = () if is_agent else _unknown(policy, rules, available, prefixes)
    base = policy if rules.allowed is None else ToolPolicy(allowed=rules.allowed)
    listed = users if base.allowed is None else base.allowed
    denied = denied_tools(base, rules)
    names = tuple(
        name
        for name in available
        if _gives(listed, name, unasked) and has_tool(rules.at_most, name) and not has_tool(denied, name)
    )
    lists = (policy.allowed, rules.allowed, rules.at_most)
    are_bounded = bool(policy.denied or rules.denied) or any(one is not None for one in lists)
    not_granted = _not_granted(policy, rules, listed=listed, only_if_named=unasked, is_agent=is_agent)
    diagnostics = (*unknown, *not_granted)
    asked = listed if listed is None or rules.at_most is None else common_tools(listed, rules.at_most)
    later = _later(asked or (), denied, prefixes)
    calls = _call_rules(policy, rules)
    return Ok(
        ResolvedTools(names=names, are_bounded=are_bounded, diagnostics=diagnostics, call_rules=calls, later=later)
    )


def denied_tools(policy: ToolPolicy, rules: ToolRules | None) -> tuple[str, ...]:
    """Return the names and patterns of the tools that nothing gives back: any of these may deny a tool, none lifts it.

    `policy` has what the profile's file denies, `rules` what the user's and the project's ohm.json deny.
    """
    return policy.denied if rules is None else (*policy.denied, *rules.denied)


def _call_rules(policy: ToolPolicy, rules: ToolRules) -> tuple[CallRules, ...]:
    """Return the rules for calls: a list in ohm.json replaces the profile's with its rules, as it does the names."""
    own = policy.call_rules if rules.allowed is None else filter(None, [rules.allowed_rules])
    return (*own, *rules.call_rules)


def _later(asked: tuple[str, ...], denied: tuple[str, ...], prefixes: tuple[str, ...]) -> LaterTools | None:
    found = tuple(one for one in prefixes if any(may_begin(name, one) for name in asked))
    names = tuple(name for name in asked if any(may_begin(name, one) for one in found))
    return LaterTools(sources=found, asked=names, denied=denied) if found else None


def may_begin(name: str, prefix: str) -> bool:
    """Return True if a name, or one that a pattern with `*` stands for, may begin with a prefix."""
    start, wildcard, _ = fold_tool(name).partition(WILDCARD)
    folded = fold_tool(prefix)
    return start.startswith(folded) or (bool(wildcard) and folded.startswith(start))


def _fault(policy: ToolPolicy, rules: ToolRules) -> OhmError | None:
    unread = next((name for name in (*(policy.allowed or ()), *policy.denied) if is_call_rule(name)), None)
    if unread is not None:
        return OhmError(
            code=ErrorCode.PROFILE_INVALID,
            message=f"The profile has the rule '{unread}', which its kind of file cannot have.",
            advice=f"Write it in ohm.json, in 'tools' of the subagent, or name '{RULED_TOOL}' as a whole.",
        )
    both = [name for name in policy.allowed or () if has_tool(policy.denied, name)]
    if both:
        return OhmError(
            code=ErrorCode.PROFILE_INVALID,
            message=f"The profile both allows and denies the tool {_quoted(sorted(both))}.",
            advice="Name each tool in one of the two lists.",
        )
    return OhmError(code=ErrorCode.CONFIG_INVALID, message=rules.unclear) if rules.unclear else None


def _with_its_own(
    known: tuple[str, ...], policy: ToolPolicy, rules: ToolRules, prefixes: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the tools that an agent profile lists, ours, and those that the configuration leaves to it."""

    def single(names: tuple[str, ...] | None) -> Iterator[str]:
        """Yield the names without the patterns that stand for tools of ours."""
        return (name for name in names or () if WILDCARD not in name or not _exists(name, known, prefixes))

    own = tuple(_as_known(name, known) for name in single(policy.allowed))
    names = (*own, *known)
    return tuple(dict.fromkeys((*names, *(_as_known(name, names) for name in single(rules.at_most)))))


def _as_known(name: str, known: tuple[str, ...]) -> str:
    """Return the name as it is spelt where the tool is ours."""
    return next((one for one in known if has_tool((one,), name)), name)


def _gives(allowed: tuple[str, ...] | None, name: str, only_if_named: tuple[str, ...]) -> bool:
    """Return True if a list, or no list, gives the tool."""
    return has_tool(allowed, name) and (allowed is not None or not has_tool(only_if_named, name))


def _not_granted(
    policy: ToolPolicy,
    rules: ToolRules,
    *,
    listed: tuple[str, ...] | None,
    only_if_named: tuple[str, ...],
    is_agent: bool,
) -> Iterator[Diagnostic]:
    """Name the tools that are listed beyond the profile; those beyond the user's file were named when it was read."""
    if rules.allowed is not None:
        return
    denied = tuple(name for name in policy.denied if not has_tool(rules.denied, name))
    lacking = [
        name for name in rules.at_most or () if not _gives(listed, name, only_if_named) or has_tool(denied, name)
    ]
    if lacking:
        why = (
            "ohm.json cannot add tools to an agent profile. Its own file can."
            if is_agent
            else "a project's file cannot add tools. The user's file can."
        )
        message = f"{rules.source}: {_quoted(lacking)} is not given: the profile lacks it, and {why}"
        yield Diagnostic(subject="tools", message=message)


def _unknown(
    policy: ToolPolicy, rules: ToolRules, available: tuple[str, ...], prefixes: tuple[str, ...]
) -> Iterator[Diagnostic]:
    for owner, lists in (("The profile", policy), (f"The configuration ({rules.source})", rules)):
        yield from unknown_tools(owner, (*(lists.allowed or ()), *lists.denied), available, prefixes)


def unknown_tools(
    owner: str, listed: Iterable[str], available: tuple[str, ...], prefixes: tuple[str, ...]
) -> Iterator[Diagnostic]:
    """Name the tools of a list that are not `available`, and that no source of these prefixes may have."""
    names = sorted({name for name in listed if not _exists(name, available, prefixes)})
    if names:
        verb = "is no child tool and is" if len(names) == 1 else "are no child tools and are"
        known = (*available, *(f"{one}{WILDCARD}" for one in prefixes))
        instead = f"{''.join(did_you_mean(name, known) for name in names)}Available: {', '.join(known)}."
        yield Diagnostic(subject="tools", message=f"{owner} names {_quoted(names)}, which {verb} left out. {instead}")


def _exists(name: str, available: tuple[str, ...], prefixes: tuple[str, ...]) -> bool:
    """Return True if there is, or may be later, a tool of this name, or one that the pattern stands for."""
    if has_tool(available, name) or any(may_begin(name, one) for one in prefixes):
        return True
    return WILDCARD in name and any(has_tool((name,), one) for one in available)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
