"""Which tools an agent of 003 gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._surfaces.mounting import STARTING
from ohm_subagents.contract.finalization import FINALIZE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract.profile import ToolPolicy

NEVER: Final = frozenset({*STARTING, FINALIZE})
"""What a list cannot give: agents start no agents, and how to hand in the answer is not for a list to say."""


def tools_of(policy: ToolPolicy, active: Iterable[str]) -> tuple[str, ...]:
    """Those of the whitelist; else the parent's without the blacklist; and at the end what every agent is given."""
    named = active if policy.allowed is None else policy.allowed
    kept = (name for name in dict.fromkeys(named) if name not in NEVER and name not in policy.denied)
    return (*kept, FINALIZE)
