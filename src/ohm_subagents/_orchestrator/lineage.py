"""Whose work this is: which task starts a task, and which budgets it is under."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents._orchestrator.account import Account
from ohm_subagents._orchestrator.purse import Purse

if TYPE_CHECKING:
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.limits import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Where in the tree of tasks something is done: by which task, how deep, and who pays."""

    account: Account
    level: int
    task_id: TaskId | None = None

    def child(self, budget: Budget | None, *, whose: str) -> Lineage:
        """The same place, under one more budget."""
        if budget is None:
            return self
        account = self.account.under(budget, whose=whose, level=self.level)
        return Lineage(account=account, level=self.level, task_id=self.task_id)


CURRENT: Final[ContextVar[Lineage | None]] = ContextVar("ohm_lineage", default=None)
"""The place of the code that runs: set around each run, so that what a tool of a subagent starts is the subagent's."""


def rooted(budget: Budget, *, level: int) -> Lineage:
    """The place of a program that is no subagent, or of a process that is one at `level`: depth counts from the top."""
    return Lineage(account=Account((Purse(budget, whose="subagents.budget", level=0),)), level=level)
