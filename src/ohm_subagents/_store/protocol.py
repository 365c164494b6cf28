"""What a store promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.result import Result
    from ohm_subagents.contract.task import Task


class Store(Protocol):
    """Keeps the newest state of every task. Synchronous: state never changes half-way."""

    def save(self, task: Task, event: Event) -> None:
        """`event` has just been applied; `task` is the state after it. The cost must not grow with the tasks kept."""
        ...

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        """The newest state; else `unknown_task_id`, or `task_expired` with the policy that removed it."""
        ...

    def retain(self, policy: RetentionPolicy) -> None:
        """Keep settled tasks by this policy from now on."""
        ...

    def tasks(self) -> Iterator[Task]:
        """Every task, oldest first."""
        ...
