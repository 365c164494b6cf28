"""Resolve the child tools of a profile: its lists, under the rules of the configuration.

`denied_tools` says who may deny a tool. What a tool may do once it is given is no matter of policy, but for the actions
that an agent profile names (`_plugins/suites/restraint.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._config.tool_rules import WILDCARD, ToolRules, common_tools, fold_tool, has_tool
from ohm_subagents._policy.tool_names import is_there, may_begin, quoted, unknown_in, unknown_restraint
from ohm_subagents._records import dataclass
from ohm_subagents.contract.call_rules import RULED_TOOL, CallRules, is_call_rule
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import ASK_PARENT, CHILD_TOOLS, ToolPolicy
from ohm_subagents.contract.result import Err, Ok, Result

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

    def gives(self, tool: str) -> bool:
        """Return True if there is a tool of this name, or one that a pattern stands for, or may be of a source."""
        if any(has_tool((tool,), name) for name in self.names):
            return True
        return self.later is not None and any(
            has_tool((tool,), one) or has_tool((one,), tool) for one in self.later.asked
        )

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
    of_call: Iterable[str] = (),
    is_agent: bool = False,
) -> Result[ResolvedTools, OhmError]:
    """Resolve the tools of a profile's policy under the configuration's rules; `offered` are those of plugins.

    Of these, `only_if_named` are given only where a list has them; a profile without a list has every other tool.
    `sources` are the prefixes of tools that are known only before a run, which too are given only where a list has
    them, and `ask_parent` is only where it stands by its name. `of_call` are the functions that a call gives: a list
    may deny them, and gives none. A profile that `is_agent` keeps its order, and names that only a command-line agent
    may know. The configuration only takes tools away from it: its rules may be meant for a subagent of the same name.

    Returns `profile_invalid` for a tool that the profile both allows and denies, or denies or asks about though there
    is none of that name; and `task_config_load_failed` for rules that cannot be understood.
    """
    rules = rules or ToolRules()
    known = tuple(dict.fromkeys((*CHILD_TOOLS, *offered)))
    prefixes = tuple(sources)
    ours = (*known, ASK_PARENT, *of_call)
    fault = _fault(policy, rules) or (None if is_agent else unknown_restraint(policy, rules, ours, prefixes))
    if fault is not None:
        return Err(fault)
    users, unasked = rules.allowed, tuple(only_if_named)
    if any(fold_tool(name) == ASK_PARENT for name in (*(policy.allowed or ()), *(users or ()))):
        known, unasked = (*known, ASK_PARENT), (*unasked, ASK_PARENT)
    if is_agent:
        rules = rules.at_most_these()
    available = _with_its_own(known, policy, rules, prefixes) if is_agent else known
    base = policy if rules.allowed is None else ToolPolicy(allowed=rules.allowed)
    listed = users if base.allowed is None else base.allowed
    denied = denied_tools(base, rules)
    names = tuple(one for one in available if _gives(listed, one, unasked) and _leaves(rules, denied, one))
    are_bounded = bool(policy.denied or rules.denied) or {policy.allowed, rules.allowed, rules.at_most} != {None}
    not_granted = _not_granted(policy, rules, listed=listed, only_if_named=unasked, is_agent=is_agent)
    unknown = () if is_agent else unknown_in(policy, rules, (*known, *of_call), prefixes)
    return Ok(
        ResolvedTools(
            names=names,
            are_bounded=are_bounded,
            diagnostics=(*unknown, *not_granted),
            call_rules=_call_rules(policy, rules),
            later=_later(listed, rules, denied, prefixes),
        )
    )


def denied_tools(policy: ToolPolicy, rules: ToolRules | None) -> tuple[str, ...]:
    """Return the names and patterns of the tools that nothing gives back: any of these may deny a tool, none lifts it.

    `policy` has what the profile's file denies, `rules` what the user's and the project's ohm.json deny.
    """
    return policy.denied if rules is None else (*policy.denied, *rules.denied)


def _call_rules(policy: ToolPolicy, rules: ToolRules) -> tuple[CallRules, ...]:
    """Return the rules for calls: a list in ohm.json replaces the profile's with its rules, as it does the names."""
    own = policy.call_rules if rules.allowed is None else rules.allowed_rules
    return (*own, *rules.call_rules)


def _later(
    listed: tuple[str, ...] | None, rules: ToolRules, denied: tuple[str, ...], prefixes: tuple[str, ...]
) -> LaterTools | None:
    asked = common_tools(listed, rules.at_most) if listed and rules.at_most is not None else listed or ()
    found = tuple(one for one in prefixes if any(may_begin(name, one) for name in asked))
    names = tuple(name for name in asked if any(may_begin(name, one) for one in found))
    return LaterTools(sources=found, asked=names, denied=denied) if found else None


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
            message=f"The profile both allows and denies the tool {quoted(sorted(both))}.",
            advice="Name each tool in one of the two lists.",
        )
    return OhmError(code=ErrorCode.CONFIG_INVALID, message=rules.unclear) if rules.unclear else None


def _with_its_own(
    known: tuple[str, ...], policy: ToolPolicy, rules: ToolRules, prefixes: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the tools that an agent profile lists, ours, and those that the configuration leaves to it."""

    def single(names: tuple[str, ...] | None) -> Iterator[str]:
        """Yield the names without the patterns that stand for tools of ours."""
        return (name for name in names or () if WILDCARD not in name or not is_there(name, known, prefixes))

    own = tuple(_as_known(name, known) for name in single(policy.allowed))
    names = (*own, *known)
    return tuple(dict.fromkeys((*names, *(_as_known(name, names) for name in single(rules.at_most)))))


def _as_known(name: str, known: tuple[str, ...]) -> str:
    """Return the name as it is spelt where the tool is ours."""
    return next((one for one in known if has_tool((one,), name)), name)


def _gives(allowed: tuple[str, ...] | None, name: str, only_if_named: tuple[str, ...]) -> bool:
    """Return True if a list, or no list, gives the tool."""
    return has_tool(allowed, name) and (allowed is not None or not has_tool(only_if_named, name))


def _leaves(rules: ToolRules, denied: tuple[str, ...], name: str) -> bool:
    """Return True if no list takes the tool away."""
    return has_tool(rules.at_most, name) and not has_tool(denied, name)


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
        message = f"{rules.source}: {quoted(lacking)} is not given: the profile lacks it, and {why}"
        yield Diagnostic(subject="tools", message=message)
