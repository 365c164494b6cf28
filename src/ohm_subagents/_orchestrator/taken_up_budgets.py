"""The budgets of tasks whose process has died, in the one that takes them up: what they shared, they share again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.ledger import Ledger
from ohm_subagents._plugins.stores import TaskQuery
from ohm_subagents.contract.result import Ok
from ohm_subagents.contract.usage import NOTHING_USED

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.call_context import CallContext
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.listed_task import ListedTask
    from ohm_subagents.contract.task import Task


class TakenUpBudgets:
    """Makes the ledgers of tasks that are taken up."""

    def __init__(self, store: Store, live: Callable[[TaskId], RunningTask | None]) -> None:
        """`live` returns a task that waits or runs in this process."""
        self._store = store
        self._live = live
        self._rests: dict[TaskId, Ledger] = {}
        self._starts: dict[str, Ledger] = {}

    def caller(self, task: Task, admitted: Plan, program: CallContext) -> CallContext:
        """Return the context of a task that is taken up, with its budgets, charged with what it has used.

        `program` is the context of a program. A task that another one has started is charged to the budgets of that as
        well, as it was before, and one that was started together with others to what all of them share; these know
        already what it has used.
        """
        shared = self._around(task, program)
        used, account = task.activity.tree_usage, task.activity.account
        caller = program if shared is None else program._replace(ledger=shared)
        if account is not None and account.remaining is not None:  # the budget of its call is in no configuration
            caller = caller.child(account.remaining.with_used(used, now_ms=task.updated_ms), owner="the call")
        caller = caller.child(admitted.budget, owner=admitted.owner)
        caller.ledger.spend_before(used, known=shared)
        return caller

    def _around(self, task: Task, program: CallContext) -> Ledger | None:
        """Return the ledger that a task shares: that of its start, or of the task that has started it."""
        shares, above = task.assignment.shares, self._of(task.assignment.parent, program)
        if shares is None:
            return above
        if shares.id not in self._starts:
            parent = program.ledger if above is None else above
            ledger = Ledger(shares.budget, owner="the call", level=program.level, parent=parent)
            together = self._listed(TaskQuery(start=shares.id))
            used = sum((one.tree_usage for one in together), NOTHING_USED)  # also of those that have ended
            ledger.spend_before(used, known=above, spawns=sum(map(self._below, together)))
            self._starts[shares.id] = ledger
        return self._starts[shares.id]

    def _below(self, task: ListedTask) -> int:
        """Return the number of tasks below one, at any depth."""
        return sum(1 + self._below(one) for one in self._listed(TaskQuery(parent=task.id)))

    def _listed(self, query: TaskQuery) -> list[ListedTask]:
        return [one.ok_value for one in self._store.list(query) if isinstance(one, Ok)]

    def _of(self, task_id: TaskId | None, program: CallContext) -> Ledger | None:
        """Return the ledger of what a task starts; of one that is over, it has what was left of its budgets."""
        if task_id is None:
            return None
        live = self._live(task_id)
        if live is not None:
            return live.caller.ledger
        if task_id not in self._rests:
            found = self._store.get(task_id)
            if not isinstance(found, Ok):
                return None
            task, above = found.ok_value, self._around(found.ok_value, program)
            account = task.activity.account
            if account is None or account.remaining is None:
                return above
            rest = account.remaining.with_used(NOTHING_USED, now_ms=task.updated_ms)
            parent = program.ledger if above is None else above
            self._rests[task_id] = Ledger(rest, owner="the call", level=program.level, parent=parent)
        return self._rests[task_id]
