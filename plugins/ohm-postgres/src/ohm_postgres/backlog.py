"""Everything that waits to be written, in order: what is tried now, what came in since, and what was tried last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_postgres.rows import Change
from ohm_subagents.store import Batch, log_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.contract import TaskId
    from ohm_subagents.store import Changes

MOST_BYTES: Final = 64 * 1024 * 1024
"""So much of logs waits while the database cannot be reached; beyond it of each task only its newest state."""


class Backlog:
    """Batches that wait. The one that is tried stays as it is until it is known if it was written.

    `drop` gets the task and the reason where a part of it can never be written, `shorten` the number of tasks whose
    logs grew too long.
    """

    def __init__(self, drop: Callable[[TaskId, Exception], None], shorten: Callable[[int], None]) -> None:
        self._drop = drop
        self._shorten = shorten
        self._tried: list[Batch[Change]] = []
        self._waiting = Batch[Change]()
        self._bytes = 0

    def add(self, batch: Batch[Change]) -> None:
        """Let a batch wait, together with those that came before it."""
        waiting = self._waiting
        for task_id, changes in batch.changes.items():
            lines = self._lines(task_id, changes)
            changes.entries = [lines]
            self._bytes += len(lines)
            if task_id in waiting.changes and not changes.is_created:
                waiting.changes[task_id].follow(changes)
            else:
                waiting.changes[task_id] = changes
        waiting.takeovers += batch.takeovers
        waiting.others += batch.others
        waiting.expired = batch.expired or waiting.expired
        waiting.count = max(batch.count, waiting.count)
        if self._bytes > MOST_BYTES:
            self._shorten(len(waiting.changes))
            for task_id, changes in waiting.changes.items():
                changes.entries = [changes.task]
                changes.entries = [self._lines(task_id, changes)]
            self._bytes = 0  # the states are in memory anyway

    def _lines(self, task_id: TaskId, changes: Changes) -> bytes:
        return log_lines(changes.entries, lambda exc: self._drop(task_id, exc))

    def first(self) -> Batch[Change] | None:
        """Return what is to be written first; it stays the first until it is `done`."""
        if not self._tried and not is_empty(self._waiting):
            self._tried, self._waiting, self._bytes = [self._waiting], Batch[Change](), 0
        return self._tried[0] if self._tried else None

    def done(self) -> None:
        """Take the first out: it was written, or never can be."""
        del self._tried[0]

    def divide(self) -> bool:
        """Put each change of the first in a batch of its own; False if there is only one."""
        whole = self._tried[0]
        parts = [Batch[Change](changes={task_id: changes}) for task_id, changes in whole.changes.items()]
        parts += [Batch[Change](takeovers=[each]) for each in whole.takeovers]
        parts += [Batch[Change](others=[each]) for each in whole.others]
        if len(parts) <= 1:
            return False
        parts[-1].expired, parts[-1].count = whole.expired, whole.count
        self._tried[:1] = parts
        return True

    def give_up_takeovers(self) -> None:
        """Forget the takeovers that are tried once."""
        for batch in (*self._tried, self._waiting):
            batch.takeovers = [each for each in batch.takeovers if not each.is_tried_once]

    @property
    def task_ids(self) -> frozenset[TaskId]:
        """The tasks of which something waits."""
        return frozenset(task_id for batch in (*self._tried, self._waiting) for task_id in batch.changes)


def is_empty(batch: Batch[Change]) -> bool:
    """Return True if there is nothing to write."""
    return not (batch.changes or batch.takeovers or batch.others or batch.expired)
