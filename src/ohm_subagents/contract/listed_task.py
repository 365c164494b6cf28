"""A task as a store lists it: without its prompt, its answer and its events, which may be large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.contract.account import Account
from ohm_subagents.contract.ids import CallId, SessionId, TaskId
from ohm_subagents.contract.task import TERMINAL, UNAVAILABLE, Status
from ohm_subagents.contract.usage import Usage

if TYPE_CHECKING:
    from ohm_subagents.contract.task import Task

NO_PROCESS: Final = "no process"
"""The owner of an unsettled task whose process has ended (`Store.owner`)."""
ELSEWHERE: Final = "elsewhere"
"""The owner of a task where the number of its process means nothing, or where nobody can tell (`Store.owner`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTask:
    """A task as a store lists it; the fields are those of `Task`. Its error and its answer are not there."""

    id: TaskId
    """The id of the task."""
    session_id: SessionId
    """The conversation that the task belongs to."""
    profile: str
    """The id of the profile."""
    description: str
    """The title of the task, in a few words."""
    call: CallId | None
    """The call of a program that started the task (`Ohm.begin`), or its start of this and other tasks."""
    status: Status
    """The status of the task."""
    created_ms: int
    """The time of admission, in epoch milliseconds."""
    started_ms: int | None
    """The start of the first run, in epoch milliseconds."""
    ended_ms: int | None
    """The time at which the task settled, in epoch milliseconds."""
    usage: Usage
    """The sum of what all model requests and tool calls of the task itself consumed."""
    start: str | None = None
    """The start whose budget it shares with other tasks (`StartBudget.id`); None where it shares none."""
    parent: TaskId | None = None
    """The task whose subagent started this one."""
    account: Account | None = None
    """The usage of the tasks below it, and the rest of its budgets; None while there is neither."""

    model: str | None = None
    """The model that works on the task, as `<provider>/<model>`; None while it is not known."""

    @classmethod
    def of(cls, task: Task) -> ListedTask:
        """Return what a list shows of a task."""
        route = task.route
        return cls(
            id=task.id,
            session_id=task.session_id,
            profile=task.assignment.profile,
            description=task.assignment.description,
            call=task.assignment.call,
            status=task.status,
            created_ms=task.assignment.created_ms,
            started_ms=task.started_ms,
            ended_ms=task.ended_ms,
            usage=task.activity.usage,
            start=None if task.assignment.shares is None else task.assignment.shares.id,
            parent=task.assignment.parent,
            account=task.activity.account,
            model=None if UNAVAILABLE in {route.provider, route.model} else f"{route.provider}/{route.model}",
        )

    @property
    def tree_usage(self) -> Usage:
        """The usage of the task and of all tasks below it, at any depth."""
        below = None if self.account is None else self.account.below
        return self.usage if below is None else self.usage + below

    @property
    def is_terminal(self) -> bool:
        """True once nothing more will happen."""
        return self.status in TERMINAL
