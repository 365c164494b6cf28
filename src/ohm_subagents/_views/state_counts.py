"""The numbers of tasks of each state, and what goes where a line that sums them up has no room."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

from ohm_subagents._views.task_texts import STATUS_TOKENS
from ohm_subagents._views.work_facts import CONCERNS, amiss_text
from ohm_subagents.contract.listed_task import NO_PROCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.work_facts import State
    from ohm_subagents.contract.task import Status

T = TypeVar("T")
_CALM: Final[tuple[Status, ...]] = ("cancelled", "queued", "succeeded")
"""Nobody has to look at these."""
_STATUSES: Final[tuple[Status, ...]] = ("running", "failed", *_CALM)


def state_counts(states: Iterable[State], *, left: int = 0) -> dict[Status, Span]:
    """Count tasks by status, as `3 failed`, in the order in which a line tells them.

    Of those that run it is told how many ask or are stuck, and how many are `left` without a process.
    """
    found: Counter[str | None] = Counter(states)
    amiss = ", ".join(filter(None, [amiss_text(found), f"{left} with {NO_PROCESS}" if left else ""]))
    found["running"] += sum(found[concern] for concern in CONCERNS)
    return {
        status: ("warning", f"{found[status]} running ({amiss})")
        if status == "running" and amiss
        else (STATUS_TOKENS[status], f"{found[status]} {status}")
        for status in _STATUSES
        if found[status]
    }


def calm_counts(counts: Mapping[Status, Span]) -> list[Span]:
    """Return the numbers of those that nobody has to look at, the first one to go first; the first of all stays."""
    return [span for status, span in [*counts.items()][:0:-1] if status in _CALM]


def without_spare(parts: Iterable[T], spare: Iterable[T], fits: Callable[[list[T]], bool]) -> list[T]:
    """Leave out spare parts of a line, one after the other, until the rest fits, or none is left."""
    kept = [*parts]
    for part in spare:
        if fits(kept):
            break
        kept.remove(part)
    return kept
