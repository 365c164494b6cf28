"""What a store promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event, Recorded
    from ohm_subagents.contract.ids import SessionId, TaskId
    from ohm_subagents.contract.result import Result
    from ohm_subagents.contract.task import Task


class Store(Protocol):
    """Keeps the newest state of every task. Saving is synchronous: state never changes half-way.

    A store that several processes share shows the tasks of all of them; only the owner of a task changes it.
    """

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was found when the store was opened: salvaged, recovered or lost tasks, and why it is another store."""
        ...

    @property
    def place(self) -> str | None:
        """Where the tasks are kept; None if they are gone with the process."""
        ...

    @property
    def first_sequence(self) -> int:
        """Where the numbers of new task ids begin, so that processes that share a store never give the same."""
        ...

    def count(self) -> int:
        """How many tasks are kept."""
        ...

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

    def recent(self) -> tuple[Task, ...]:
        """The tasks that this process runs or has lately run, from memory: for displays."""
        ...

    def session(self, session_id: SessionId) -> tuple[Task, ...]:
        """The tasks that share a context, oldest first."""
        ...

    async def history(self, task: Task) -> tuple[Recorded, ...]:
        """What is known to have happened in a task of this store, oldest first, without keeping the event loop waiting.

        All of it where it is written down, else what the task keeps. A text may stand for several pieces.
        """
        ...

    def is_foreign(self, task_id: TaskId) -> bool:
        """Whether another living process runs the task."""
        ...

    async def flush(self) -> None:
        """Until everything saved so far would survive the death of this process."""
        ...
