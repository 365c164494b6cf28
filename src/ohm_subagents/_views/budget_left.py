"""The rest of budgets as pieces of a line: what runs out comes first."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from ohm_subagents._views.account import remaining_parts
from ohm_subagents.contract.account import Account, Remaining

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from ohm_subagents._views.spans import Span
    from ohm_subagents.contract.limits import Budget
    from ohm_subagents.contract.task import Task

_NAMES: Final = ("cost_usd", "requests", "tokens", "tool_calls", "wall_ms")
"""The budgets in the order of `remaining_parts`."""
_SCARCE: Final = 4
"""A budget runs out once less than this part of it is left: a quarter."""


def left_spans(tasks: Sequence[Task], *, at_ms: int) -> list[Span]:
    """Return what is left of the budgets that all of these tasks share, or one has, in epoch milliseconds `at_ms`.

    What runs out is first, the one with the least left before the others, and is a warning.
    """
    accounts = (task.activity.account for task in tasks)
    rests = [account.remaining for account in accounts if account is not None and account.remaining is not None]
    known: dict[str, Any] = {one.name: _least(getattr(rest, one.name) for rest in rests) for one in fields(Remaining)}
    least = Remaining(**known)
    wholes = [whole for task in tasks for whole in _wholes(task)]
    lefts = [(name, least.wall_ms(at_ms) if name == "wall_ms" else getattr(least, name)) for name in _NAMES]
    rated = [(left, _least(getattr(whole, name) for whole in wholes)) for name, left in lefts if left is not None]
    parts = [*zip(rated, remaining_parts(Account(remaining=least), at_ms=at_ms), strict=True)]
    scarce = [(left / whole, text) for (left, whole), text in parts if whole and left * _SCARCE < whole]
    others = [text for (left, whole), text in parts if not (whole and left * _SCARCE < whole)]
    return [
        *(("warning", f"{text} left") for _, text in sorted(scarce, key=lambda one: one[0])),
        *(("dim", f"{text} left") for text in others),
    ]


def _wholes(task: Task) -> list[Budget]:
    own = [] if task.launch is None else [task.launch.budget]
    return own if task.assignment.shares is None else [*own, task.assignment.shares.budget]


def _least(values: Iterable[Decimal | None]) -> Decimal | None:
    return min((value for value in values if value is not None), default=None)
