"""The most that the tools of a subagent may do: no more than those of the run that starts it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from pydantic import TypeAdapter, ValidationError

from ohm_subagents._records import dataclass
from ohm_subagents.contract.call_rules import CallRules, CloneOf


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCeiling:
    """The tools and the rules for calls that a run has, as they bound everything that it starts."""

    names: tuple[str, ...] | None = None
    """The tools, and patterns with `*` for those of servers; None for a run whose tools nothing limits."""
    denied: tuple[str, ...] = ()
    """Tools, and patterns, that it has not, whatever `names` has."""
    call_rules: tuple[CallRules, ...] = ()
    """The rules for its calls; each names the directory that its paths are relative to, or means that of the task."""
    holder: str = ""
    """The profile that the run is of; empty for the lists of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """The ceilings of what a run starts."""

    own: ToolCeiling
    """The tools and rules of the run itself."""
    above: ToolCeiling | None = None
    """The ceiling that the run is under; None for one that a program has started."""
    delegate: tuple[str, ...] = ()
    """The folded ids of profiles that get what their own configuration gives them, under `above` alone."""

    @property
    def is_limited(self) -> bool:
        """Return True if the tools or the calls of the run are limited, or it is under a ceiling."""
        return self.above is not None or self.own.names is not None or bool(self.own.call_rules)


def rooted(rules: tuple[CallRules, ...], cwd: str) -> tuple[CallRules, ...]:
    """Return rules whose relative paths begin at a directory, wherever a call is made."""
    return tuple(one if one.cwd else replace(one, cwd=cwd) for one in rules)


def cloned(rules: tuple[CallRules, ...], cwd: str, clone: CloneOf) -> tuple[CallRules, ...]:
    """Return rules that mean a directory, for calls in a clone of it, or of a directory that it is in."""
    return tuple(replace(one, clones=(*one.clones, clone)) for one in rooted(rules, cwd))


def cloned_delegation(delegation: Delegation, cwd: str, clone: CloneOf) -> Delegation:
    """Return the ceilings of what a run starts that works in a clone."""

    def moved(ceiling: ToolCeiling) -> ToolCeiling:
        return replace(ceiling, call_rules=cloned(ceiling.call_rules, cwd, clone))

    above = None if delegation.above is None else moved(delegation.above)
    return replace(delegation, own=moved(delegation.own), above=above)


def delegation_to_json(delegation: Delegation) -> str:
    """Write the ceilings of what a run starts as JSON."""
    return _adapter().dump_json(delegation, exclude_defaults=True).decode()


def delegation_from_json(text: str) -> Delegation | None:
    """Return the ceilings that `delegation_to_json` wrote; None if the text holds none."""
    try:
        return _adapter().validate_json(text)
    except ValidationError:
        return None


@cache
def _adapter() -> TypeAdapter[Delegation]:
    return TypeAdapter(Delegation)
