"""The names in lists of tools: those that there are, or may be before a run, and those that no tool has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._config.tool_rules import WILDCARD, ToolRules, fold_tool, has_tool
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import ASK_PARENT, ToolPolicy
from ohm_subagents.contract.spelling import did_you_mean, nearest_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BETWEEN: Final = "__"
"""The characters between a source and its tool, as in `mcp__github__push`."""


def is_there(name: str, available: tuple[str, ...], prefixes: tuple[str, ...]) -> bool:
    """Return True if there is, or may be later, a tool of this name, or one that the pattern stands for."""
    if has_tool(available, name) or any(may_begin(name, one) for one in prefixes):
        return True
    return WILDCARD in name and any(has_tool((name,), one) for one in available)


def may_begin(name: str, prefix: str) -> bool:
    """Return True if a name, or one that a pattern with `*` stands for, may begin with a prefix."""
    start, wildcard, _ = fold_tool(name).partition(WILDCARD)
    folded = fold_tool(prefix)
    return start.startswith(folded) or (bool(wildcard) and folded.startswith(start))


def unknown_restraint(
    policy: ToolPolicy, rules: ToolRules, known: tuple[str, ...], prefixes: tuple[str, ...]
) -> OhmError | None:
    """Return an error for the first denied or asked name that no tool has: the tool that was meant would be given."""
    ours = (f"The configuration ({rules.source})", rules, ErrorCode.CONFIG_INVALID)
    own = ("The profile", policy, ErrorCode.PROFILE_INVALID)
    for owner, lists, code in (ours,) if rules.allowed is not None else (own, ours):
        asked = (one.tool for one in lists.call_rules if one.ask or one.deny)
        unknown = next((name for name in (*lists.denied, *asked) if is_misspelt(name, known, prefixes)), None)
        if unknown is not None:
            return OhmError(
                code=code,
                message=f"{owner} denies or asks about '{unknown}', which is no tool of a subagent; "
                "the subagent does not run until it is corrected.",
                advice=instead([unknown], known, prefixes),
            )
    return None


def is_misspelt(name: str, known: tuple[str, ...], prefixes: tuple[str, ...]) -> bool:
    """Return True for a name that there is not; a pattern, or one of a source that there is not, if it is like one."""
    if is_there(name, known, prefixes):
        return False
    if _BETWEEN not in name:
        return WILDCARD not in name or nearest_name(name, known) is not None
    parts = name.split(_BETWEEN)
    sources = [(one, one.strip("_").count(_BETWEEN)) for one in prefixes]
    return any(
        at < len(parts) and nearest_name(parts[at], [one.strip("_").split(_BETWEEN)[at]]) is not None
        for one, at in sources
    )


def unknown_in(
    policy: ToolPolicy, rules: ToolRules, available: tuple[str, ...], prefixes: tuple[str, ...]
) -> tuple[Diagnostic, ...]:
    """Name the tools that the lists of a profile, and those of the configuration, have and that there are not."""
    theirs = unknown_of(rules, available, prefixes, f"The configuration ({rules.source})")
    return (*unknown_of(policy, available, prefixes), *theirs)


def unknown_of(
    lists: ToolPolicy | ToolRules, available: tuple[str, ...], prefixes: tuple[str, ...], owner: str = "The profile"
) -> tuple[Diagnostic, ...]:
    """Name the tools of all lists of a profile, or of the configuration, that there are not."""
    ruled = (one.tool for one in lists.call_rules)
    listed = (name for name in (*(lists.allowed or ()), *lists.denied, *ruled) if fold_tool(name) != ASK_PARENT)
    return tuple(unknown_tools(owner, listed, available, prefixes))


def unknown_tools(
    owner: str, listed: Iterable[str], available: tuple[str, ...], prefixes: tuple[str, ...]
) -> Iterator[Diagnostic]:
    """Name the tools of a list that are not `available`, and that no source of these prefixes may have."""
    names = sorted({name for name in listed if not is_there(name, available, prefixes)})
    if names:
        verb = "is no tool of a subagent and is" if len(names) == 1 else "are no tool of a subagents and are"
        others = instead(names, available, prefixes)
        yield Diagnostic(subject="tools", message=f"{owner} names {quoted(names)}, which {verb} left out. {others}")


def instead(names: Iterable[str], available: tuple[str, ...], prefixes: tuple[str, ...]) -> str:
    """Return the advice on names that no tool has: the ones that were meant, and those that there are."""
    known = (*available, *(f"{one}{WILDCARD}" for one in prefixes))
    return f"{''.join(did_you_mean(name, known) for name in names)}Available: {', '.join(known)}."


def quoted(names: Iterable[str]) -> str:
    """Return the names in quotes, with commas between them."""
    return ", ".join(f"'{name}'" for name in names)
