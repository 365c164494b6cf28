"""The tools of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import FINALIZE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.suite import ToolPolicy

NEVER: Final = frozenset({"subagent", "subagent_single", "subagent_sticky", FINALIZE})
"""Tools that no list can give: agents start no agents, and every agent hands in its answer by one tool."""


def tools_of(policy: ToolPolicy, active: Iterable[str]) -> tuple[str, ...]:
    """Those of the whitelist; else the parent's without the blacklist; and at the end what every agent is given."""
    named = active if policy.allowed is None else policy.allowed
    kept = (name for name in dict.fromkeys(named) if name not in NEVER and name not in policy.denied)
    return (*kept, FINALIZE)
