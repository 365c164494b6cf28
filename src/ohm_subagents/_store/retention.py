"""What expires, what is evicted, and why (004, Persistence details). Costs the same however many tasks are kept."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents.contract.activity import MAX_EVENTS
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """A settled task can be looked up for `retention_ms`; beyond `max_entries` tasks the settled ones go, oldest first.

    A task of a file that says nothing of it is read with its newest `max_events` events.
    """

    retention_ms: int = 86_400_000
    max_entries: int = 200
    max_reasons: int = 500
    max_events: int = MAX_EVENTS


def expired_why(policy: RetentionPolicy) -> str:
    """Why a task is gone that was kept long enough."""
    return f"expired by retention policy after {policy.retention_ms}ms"


def evicted_why(policy: RetentionPolicy) -> str:
    """Why a task is gone that made room for others."""
    return f"evicted by capacity policy after reaching max {policy.max_entries} tasks"


def expired(task_id: TaskId, why: str) -> OhmError:
    """What is said of a task that is gone."""
    return OhmError(code=ErrorCode.TASK_EXPIRED, message=f"Task id '{task_id}' {why}")


def unknown(task_id: TaskId) -> OhmError:
    """What is said of a task that was never there, or so long ago that nobody remembers."""
    return OhmError(code=ErrorCode.UNKNOWN_TASK_ID, message=f"Unknown task id '{task_id}'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A task that was found to be past its time: nothing that a clock says removes one."""

    task: Task
    at_ms: int


class Retention:
    """The settled tasks in the order in which they ended, and the reasons of those that are gone."""

    def __init__(self, policy: RetentionPolicy) -> None:
        self.policy = policy
        self._ended: OrderedDict[TaskId, int] = OrderedDict()
        self.reasons: OrderedDict[TaskId, str] = OrderedDict()

    def created(self, task_id: TaskId) -> None:
        """A new task may have the id of one that is gone."""
        self.reasons.pop(task_id, None)

    def ended(self, task_id: TaskId, at_ms: int) -> None:
        """A task has settled; its time runs from now on."""
        self._ended[task_id] = at_ms

    def expired(self, now_ms: int) -> Iterator[TaskId]:
        """Forget what has been kept long enough; the caller hides it."""
        while self._ended:
            task_id, ended_ms = next(iter(self._ended.items()))
            if now_ms - ended_ms < self.policy.retention_ms:
                return
            yield self._forget(task_id, expired_why(self.policy))

    def evicted(self, count: int) -> Iterator[TaskId]:
        """Forget the oldest settled tasks until `count` fits; tasks that are not settled are never evicted."""
        for _ in range(min(count - self.policy.max_entries, len(self._ended))):
            yield self._forget(next(iter(self._ended)), evicted_why(self.policy))

    def returned(self, task: Task) -> None:
        """It was hidden by a clock that has gone back since."""
        self.reasons.pop(task.id, None)
        self._ended[task.id] = task.ended_ms or 0
        self._ended = OrderedDict(sorted(self._ended.items(), key=lambda entry: entry[1]))

    def reason(self, task_id: TaskId) -> OhmError:
        """Why there is no such task."""
        why = self.reasons.get(task_id)
        return unknown(task_id) if why is None else expired(task_id, why)

    def _forget(self, task_id: TaskId, why: str) -> TaskId:
        del self._ended[task_id]
        self.remember(task_id, why)
        return task_id

    def remember(self, task_id: TaskId, why: str) -> None:
        """So many reasons, then the oldest is forgotten."""
        self.reasons[task_id] = why
        if len(self.reasons) > self.policy.max_reasons:
            self.reasons.popitem(last=False)
