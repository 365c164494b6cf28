"""Retention: the tasks that expire or are evicted. Costs the same however many are kept."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents._plugins.stores import RetentionPolicy
    from ohm_subagents.contract.ids import TaskId


def expired_reason(policy: RetentionPolicy) -> str:
    """Return why a task was removed that was kept long enough."""
    return f"expired by retention policy after {policy.retention_ms}ms"


def evicted_reason(policy: RetentionPolicy) -> str:
    """Return why a task was removed that made room for others."""
    return f"evicted by capacity policy after reaching max {policy.max_entries} tasks"


def task_expired(task_id: TaskId, why: str) -> OhmError:
    """Return the error for a task that was removed."""
    return OhmError(code=ErrorCode.TASK_EXPIRED, message=f"Task id '{task_id}' {why}")


def unknown_task(task_id: TaskId) -> OhmError:
    """Return the error for a task that was never there, or so long ago that its reason is forgotten."""
    return OhmError(code=ErrorCode.UNKNOWN_TASK_ID, message=f"Unknown task id '{task_id}'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A task that was found to be past its time; nothing that a clock says removes one."""

    task: Task
    """The task."""
    at_ms: int
    """The time at which that was found, in epoch milliseconds."""


class Retention:
    """The settled tasks in the order in which they ended, and the reasons of those that were removed."""

    def __init__(self, policy: RetentionPolicy) -> None:
        self.policy = policy
        self._ended: OrderedDict[TaskId, int] = OrderedDict()
        self.reasons: OrderedDict[TaskId, str] = OrderedDict()

    def created(self, task_id: TaskId) -> None:
        """Forget why an earlier task of this id was removed."""
        self.reasons.pop(task_id, None)

    def ended(self, task_id: TaskId, at_ms: int) -> None:
        """Record that a task has settled; its time runs from now on."""
        self._ended[task_id] = at_ms

    def expired(self, now_ms: int) -> Iterator[TaskId]:
        """Yield what has been kept long enough, for the caller to hide."""
        while self._ended:
            task_id, ended_ms = next(iter(self._ended.items()))
            if now_ms - ended_ms < self.policy.retention_ms:
                return
            yield self._forget(task_id, expired_reason(self.policy))

    def evicted(self, count: int) -> Iterator[TaskId]:
        """Yield the oldest settled tasks until `count` fits; tasks that are not settled are never evicted."""
        for _ in range(min(count - self.policy.max_entries, len(self._ended))):
            yield self._forget(next(iter(self._ended)), evicted_reason(self.policy))

    def returned(self, task: Task) -> None:
        """Show a task again that was hidden by a clock that has been set back since."""
        self.reasons.pop(task.id, None)
        self._ended[task.id] = task.ended_ms or 0
        self._ended = OrderedDict(sorted(self._ended.items(), key=lambda entry: entry[1]))

    def reason(self, task_id: TaskId) -> OhmError:
        """Return why there is no such task."""
        why = self.reasons.get(task_id)
        return unknown_task(task_id) if why is None else task_expired(task_id, why)

    def _forget(self, task_id: TaskId, why: str) -> TaskId:
        del self._ended[task_id]
        self.remember(task_id, why)
        return task_id

    def remember(self, task_id: TaskId, why: str) -> None:
        """Remember why a task was removed; beyond `max_reasons` the oldest reason is forgotten."""
        self.reasons[task_id] = why
        if len(self.reasons) > self.policy.max_reasons:
            self.reasons.popitem(last=False)
