"""`subagent_finalize`: how a subagent hands in its answer (003)."""

from __future__ import annotations

from typing import Final

from ohm_subagents.contract.events import Finalized, Recorded, ToolStarted

FINALIZE: Final = "subagent_finalize"
"""A tool that only subagents have, and only those whose profile demands it."""


def standing(finalized: Finalized, calls: tuple[Recorded, ...]) -> Finalized | None:
    """What stands of an answer that is handed in after these calls; nothing, if its call was not the last to begin."""
    begun = (one.event.tool for one in reversed(calls) if isinstance(one.event, ToolStarted))
    return finalized if next(begun, FINALIZE) == FINALIZE else None
