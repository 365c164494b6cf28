"""Makes tasks of rows: reads their logs, puts damaged ones aside, and fails those whose owner has died."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents.contract.listed_task import ListedTask
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.stores.sqlite.stored import NOT_AS_WRITTEN, damaged

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import Recent
    from ohm_subagents.stores.sqlite.owners import Neighbours
    from ohm_subagents.stores.sqlite.reader import Reader
    from ohm_subagents.stores.sqlite.stored import Row, StoredTask


class Loader:
    """Loads what is in the file; `recover` fails a task of a dead owner, by its number, and returns the failed task."""

    def __init__(
        self, reader: Reader, neighbours: Neighbours, recent: Recent, recover: Callable[[Task, int], Task]
    ) -> None:
        self._reader = reader
        self._neighbours = neighbours
        self._recent = recent
        self._recover = recover

    def listed(self, row: Row) -> Result[ListedTask, OhmError] | None:
        """Return what a list shows of a task, from memory or its row; its log is read only where the row is no use."""
        known = self._recent.get(row.id)
        if known is not None:
            return Ok(ListedTask.of(known))
        if (listed := row.listed_task) is not None and (row.ended_ms is not None or self._is_live(row)):
            return Ok(listed)
        loaded = self.task(row)
        return Ok(ListedTask.of(loaded.ok_value)) if isinstance(loaded, Ok) else loaded

    def task(self, row: Row, known: StoredTask | None = None) -> Result[Task, OhmError] | None:
        """Return the task of a row, or None if it has been removed; one whose owner has died is failed on the way.

        Its owner is looked at first, then its log: what the owner wrote last is in there.
        """
        is_live = self._is_live(row)
        stored = known if known is not None and (is_live or row.ended_ms is not None) else self._reader.task(row.id)
        if stored is None:
            return None
        if stored.row.seq != row.seq or (stored.row.ended_ms is None and stored.row.owner != row.owner):
            return self.task(stored.row, stored)  # it is another one by now, or another process has it
        folded = Err(stored.wrong) if stored.wrong is not None else stored.task()
        if isinstance(folded, Ok) and stored.row.ended_ms is not None and not folded.ok_value.is_terminal:
            folded = Err(NOT_AS_WRITTEN)
        if isinstance(folded, Err):  # where its owner is alive, only the owner may change it
            wrong = folded.err_value
            return Err(damaged(row.id, wrong) if is_live else self._reader.put_aside(stored, wrong))
        activity = replace(folded.ok_value.activity, checkpoint=self._reader.checkpoint(stored))
        task = replace(folded.ok_value, activity=activity)
        return Ok(task) if task.is_terminal or is_live else Ok(self._recover(task, stored.row.owner))

    def left(self, task_id: TaskId) -> tuple[Task, int] | None:
        """Return an unsettled task of a dead owner as it was left, and the number of the owner."""
        stored = self._reader.task(task_id)
        if stored is None or stored.row.ended_ms is not None or self._is_live(stored.row):
            return None
        folded = stored.task()
        return (folded.ok_value, stored.row.owner) if isinstance(folded, Ok) else None

    def _is_live(self, row: Row) -> bool:
        return row.ended_ms is None and self._neighbours.is_at_work(row.owner)
