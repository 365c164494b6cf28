"""One budget for several starts of a tool call."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator


class SharedBudget:
    """Keeps for the engine the context of the first start, to which later ones are charged."""

    __slots__ = ("context",)

    def __init__(self) -> None:
        self.context: object = None


current_budget: Final[ContextVar[SharedBudget | None]] = ContextVar("ohm_shared_budget", default=None)
"""The budget of the running code, if it shares one."""


@contextmanager
def shared_budget() -> Generator[None]:
    """Charge all starts inside to the same `subagents.budget`, as if they were one start."""
    token = current_budget.set(SharedBudget())
    try:
        yield
    finally:
        current_budget.reset(token)
