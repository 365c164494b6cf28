"""The context of a call: the task that makes it, its level, and the budgets that it is charged to."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents._orchestrator.ledger import Ledger

if TYPE_CHECKING:
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.limits import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """The position of a call in the tree of tasks.

    Fields:
        ledger: the budgets that are charged.
        level: 0 for a program, one more for each task below it.
        task_id: the task that calls; None for a program.
    """

    ledger: Ledger
    level: int
    task_id: TaskId | None = None

    def child(self, budget: Budget | None, *, owner: str) -> CallContext:
        """Return the same context under one more budget; `owner` names it in error messages."""
        if budget is None:
            return self
        ledger = Ledger(budget, owner=owner, level=self.level, parent=self.ledger)
        return CallContext(ledger=ledger, level=self.level, task_id=self.task_id)


current_context: Final[ContextVar[CallContext | None]] = ContextVar("ohm_call_context", default=None)
"""The context of the code that runs. Set around each run, so that a task started by a tool is the subagent's child."""


def root_context(budget: Budget, *, level: int) -> CallContext:
    """Return the context of a program, or of a process that is itself a subagent at `level`."""
    return CallContext(ledger=Ledger(budget, owner="subagents.budget", level=0), level=level)
