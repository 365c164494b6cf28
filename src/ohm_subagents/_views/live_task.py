"""A task with what only its events tell, and if it waits for another one."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents._views.account import account_now
from ohm_subagents._views.call_waits import CallWait  # noqa: TC001  the types of a public record are read at run time
from ohm_subagents._views.work_facts import concern_of
from ohm_subagents.contract.listed_task import ListedTask
from ohm_subagents.contract.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ohm_subagents._views.work_facts import Concern
    from ohm_subagents.contract.account import Account
    from ohm_subagents.contract.ids import TaskId


class Awaited(NamedTuple):
    """The tasks that a task has started itself, of which one has not settled: how many there are."""

    total: int
    """All of them."""
    going: int
    """Those that have not settled."""
    asking: int
    """Those of them that wait for an answer."""
    stuck: int
    """Those of them that make no progress."""
    since_ms: int
    """The admission of the first that has not settled, in epoch milliseconds."""


class LiveTask(NamedTuple):
    """A task, and what only its events tell."""

    task: Task
    """The newest state."""
    thinking: str = ""
    """The end of what its model thinks, while it does nothing else."""
    depth: int = 0
    """The number of shown tasks that it is below."""
    is_patient: bool = False
    """True while it waits for a task that it has started (`patient_tasks`): such a one is not stuck."""
    waits: tuple[CallWait, ...] = ()
    """The waits of its calls for answers that are over, as far as they are known."""
    is_answered_here: bool = False
    """A key of this terminal answers what it asks, so that nobody needs the id of the request."""
    awaited: Awaited | None = None
    """The tasks that it has started, if one of them goes on, and it is known."""

    def concern(self, *, now_ms: int) -> Concern | None:
        """Return why it needs somebody; None if it does not."""
        return concern_of(self.task, now_ms=now_ms, is_patient=self.is_patient)


def patient_tasks(tasks: Iterable[Task | ListedTask]) -> frozenset[TaskId | None]:
    """Return the ids of those that wait for one of these, which they have started and which has not settled."""
    working = (one for one in tasks if not one.is_terminal)
    return frozenset(one.assignment.parent if isinstance(one, Task) else one.parent for one in working)


def awaited_tasks(
    tasks: Iterable[Task | ListedTask], concerns: Mapping[TaskId, Concern | None]
) -> dict[TaskId | None, Awaited]:
    """Return what those wait for that have started some of these tasks, by the id; `concerns` is what is amiss."""
    below: dict[TaskId | None, list[ListedTask]] = defaultdict(list)
    for one in (ListedTask.of(each) if isinstance(each, Task) else each for each in tasks):
        below[one.parent].append(one)
    found: dict[TaskId | None, Awaited] = {}
    for parent, children in below.items():
        going = [one for one in children if not one.is_terminal]
        amiss = Counter(concerns.get(one.id) for one in going)
        if going:
            since_ms = min(one.created_ms for one in going)
            found[parent] = Awaited(len(children), len(going), amiss["asking"], amiss["stuck"], since_ms)
    return found


def as_of_now(live: LiveTask, among: Sequence[LiveTask]) -> LiveTask:
    """Return a task with what is left of its budgets now: others of these share them, and have spent of them since."""
    account = _account(live.task, {one.task.id: one.task for one in among})
    return live._replace(task=replace(live.task, activity=replace(live.task.activity, account=account)))


def _account(task: Task, among: Mapping[TaskId, Task]) -> Account | None:
    asked = task.assignment
    above = None if asked.parent is None else among.get(asked.parent)
    start = None if asked.shares is None else asked.shares.id
    together = (
        one
        for one in among.values()
        if start is not None and one.assignment.shares is not None and one.assignment.shares.id == start
    )
    return account_now(task, parent=None if above is None else _account(above, among), together=together)


def with_patience(tasks: Sequence[LiveTask], *, now_ms: int) -> list[LiveTask]:
    """Return tasks of which each knows whether it waits for others of them, and for how many."""
    patient = patient_tasks(one.task for one in tasks)
    known = [one._replace(is_patient=one.is_patient or one.task.id in patient) for one in tasks]
    concerns: dict[TaskId, Concern | None] = {one.task.id: one.concern(now_ms=now_ms) for one in known}
    awaited = awaited_tasks((one.task for one in known), concerns)
    return [one._replace(awaited=awaited.get(one.task.id)) for one in known]
