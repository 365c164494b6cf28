"""Tasks past their time are hidden, by the clock of this process."""

from collections.abc import Callable

from ohm_subagents._plugins.stores import RetentionPolicy
from ohm_subagents._store.retention import expired_reason, task_expired
from ohm_subagents._store.writer_queue import Expired
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.ids import Clock
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.task import Task


class Expiry:
    """Hides what is past its time by the clock, which may be wrong: nothing is removed because of what it says.

    A task that was found to be past its time stays hidden, whatever policy comes, until the clock is set back before
    the moment in which that was found. `put` is that of the writer's queue.
    """

    def __init__(
        self, clock: Clock, policy: RetentionPolicy, put: Callable[[Expired], None], *, is_reader: bool
    ) -> None:
        self._clock = clock
        self._policy = policy
        self._put = put
        self._is_queued = is_reader
        self._is_reader = is_reader

    def retain(self, policy: RetentionPolicy) -> None:
        """Go by this policy from now on."""
        self._policy = policy
        self._queue_it()

    @property
    def settled_after_ms(self) -> int:
        """A task that settled later than this is not past its time."""
        return self._clock() - self._policy.retention_ms

    def is_recorded(self, expired_ms: int | None) -> bool:
        """Return True for a task that was found to be past its time at `expired_ms`, in epoch milliseconds."""
        return expired_ms is not None and expired_ms <= self._clock()

    def within(self, task: Task) -> Result[Task, OhmError]:
        """Return the task, or the error if it is past its time."""
        if task.ended_ms is None or task.ended_ms > self.settled_after_ms:
            return Ok(task)
        if not self._is_queued:
            self._queue_it()
        return Err(task_expired(task.id, expired_reason(self._policy)))

    def is_written(self) -> None:
        """Queue the next task that is found: those so far are in the file."""
        self._is_queued = self._is_reader

    def _queue_it(self) -> None:
        self._is_queued = True
        self._put(Expired(policy=self._policy, now_ms=self._clock()))
