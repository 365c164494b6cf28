"""What is past its time: hidden at once from whoever asks, and hidden for everybody by the next who writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._store.retention import expired, expired_why
from ohm_subagents._store.writer_queue import Look
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents._store.stored import Stored
    from ohm_subagents._store.writer_queue import WriterQueue
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.task import Task


class Expiry:
    """By the clock as it stands, which may be wrong: so nothing that it says removes a task.

    A task that was found to be past its time stays hidden, whatever policy comes, until the clock stands before the
    moment in which that was found.
    """

    def __init__(self, clock: Clock, policy: RetentionPolicy, queue: WriterQueue) -> None:
        self._clock = clock
        self._policy = policy
        self._queue = queue
        self._has_looked = False

    def retain(self, policy: RetentionPolicy) -> None:
        """Go by this policy from now on."""
        self._policy = policy
        self._look()

    def is_found(self, row: Stored) -> bool:
        """Whether somebody has found the task of a row to be past its time."""
        return row.expired_ms is not None and row.expired_ms <= self._clock()

    def within(self, task: Task) -> Result[Task, OhmError]:
        """The task, or why it is gone."""
        if task.ended_ms is None or self._clock() - task.ended_ms < self._policy.retention_ms:
            return Ok(task)
        if not self._has_looked:
            self._look()
        return Err(expired(task.id, expired_why(self._policy)))

    def is_written(self) -> None:
        """What was found so far is in the file; what is found from now on is not."""
        self._has_looked = False

    def _look(self) -> None:
        self._has_looked = True
        self._queue.put(Look(policy=self._policy, now_ms=self._clock()))
