"""Tasks in memory: those that this process runs, and those that settled lately."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.task import Task

RECENT: Final = 128
"""So many settled tasks are answered from memory."""
RECENT_CHARS: Final = 16_000_000
"""And so many characters of what they said."""


class Recent:
    """The newest states of tasks by id. The thread that writes may take tasks out at any time."""

    def __init__(self) -> None:
        self._newest: dict[TaskId, Task] = {}
        self._settled: OrderedDict[TaskId, tuple[int, int]] = OrderedDict()
        self._settled_chars = 0

    def __contains__(self, task_id: TaskId) -> bool:
        return task_id in self._newest

    def __len__(self) -> int:
        return len(self._newest)

    def get(self, task_id: TaskId) -> Task | None:
        return self._newest.get(task_id)

    def all(self) -> tuple[Task, ...]:
        return tuple(self._newest.copy().values())  # other threads see a copy as one step

    def keep(self, task: Task) -> None:
        """Keep the newest state of a task."""
        self._newest[task.id] = task

    def settle(self, task: Task, *, number: int, written_count: int) -> None:
        """Note that a task has settled, and drop the oldest that are safely in the file.

        `number` is its place among the entries that were ever put into the queue, of which `written_count` are in the
        file.
        """
        streamed = sum(map(len, task.activity.said)) + len(task.activity.checkpoint or "")
        size = streamed + sum(len(run.output or "") for run in task.runs)
        self._settled_chars -= self._settled.pop(task.id, (0, 0))[1]  # something may come after the end
        self._settled[task.id] = (number, size)
        self._settled_chars += size
        while len(self._settled) > RECENT or self._settled_chars > RECENT_CHARS:
            oldest, (number, chars) = next(iter(self._settled.items()))
            if number > written_count:
                break
            del self._settled[oldest]
            self._settled_chars -= chars
            self._newest.pop(oldest, None)

    def is_written(self, task_id: TaskId, written_count: int) -> bool:
        """Return True if it has settled and is in the file, where another process may have removed it."""
        return task_id in self._settled and self._settled[task_id][0] <= written_count

    def forget(self, task_ids: Iterable[TaskId]) -> None:
        """Drop tasks that were removed; from any thread."""
        for task_id in task_ids:
            self._newest.pop(task_id, None)
