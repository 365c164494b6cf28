"""`subagent_finalize`: how a subagent hands in its answer (003).

Where the rest of it is: what a valid answer is, and the tool, in `_plugins/finalization`; what `Finalized` does to a
task in `contract/task`; what a run came to, and its corrections, in `_orchestrator/finalization`; for a nested `pi`
the same tool as an extension in `backends/pi/finalizer`;
the keys of a profile's file in `_profiles/answer_keys`.
"""

from __future__ import annotations

from typing import Final

from ohm_subagents.contract.events import Finalized, Recorded, ToolStarted

FINALIZE: Final = "subagent_finalize"
"""A tool that only subagents have, and only those whose profile demands it."""


def standing(finalized: Finalized, calls: tuple[Recorded, ...]) -> Finalized | None:
    """`finalized`, if its call is the last that has begun in `calls`, all that is known of the task's; else nothing.

    The order of the events is the rule: any other call that begins after that of the answer voids it.
    """
    begun = (one.event.tool for one in reversed(calls) if isinstance(one.event, ToolStarted))
    return finalized if next(begun, FINALIZE) == FINALIZE else None
