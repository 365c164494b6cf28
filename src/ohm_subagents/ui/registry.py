"""All kept tasks, as a list shows them: read once, then only what is new."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract import ListedTask, Ok
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.store import TaskQuery
from ohm_subagents.ui.answers import Counts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ohm_subagents.store import Store, TaskLog
    from ohm_subagents.ui.filters import Filters
    from ohm_subagents.views import Concern

_MOST_GONE: Final = 10_000
"""So many tasks that are kept no more are remembered for pages that have not heard of it."""
_MOST_LATE: Final = 500
"""Of so many tasks, the last to settle, it is looked whether something has come after their end, as their usage may."""


class Registry:
    """The tasks of a store. A settled one is read again only for what comes after its end."""

    def __init__(self, store: Store) -> None:
        """Know nothing yet; `refresh` reads."""
        self.version = 0
        """Rises with each change."""
        self._store = store
        self._tasks: dict[TaskId, ListedTask] = {}
        self._in_order: list[TaskId] | None = None
        self._below: dict[TaskId, list[TaskId]] = {}
        self._sizes: dict[TaskId, int] = {}  # the tasks below each, and itself
        self._started: dict[str, list[TaskId]] = {}
        self._open: set[TaskId] = set()
        self._opened: tuple[int, Counter[TaskId]] = -1, Counter()
        self._late: dict[TaskId, int] = {}  # where the logs of those that settled last ended when they were read
        self._changed: dict[TaskId, int] = {}
        self._gone: dict[TaskId, int] = {}
        self._unread: int | None = None  # how many tasks are counted and cannot be read; None before all was read

    def refresh(self) -> None:
        """Read what is new."""
        self.version += 1
        if self._unread is not None:
            self._read_new()
        if self._store.count() - len(self._tasks) != self._unread:
            self._read_all()

    def _read_new(self) -> None:
        """Read the tasks that have begun, and those that were not settled."""
        for found in self._store.list(TaskQuery()):
            if isinstance(found, Ok):
                if found.ok_value.id in self._tasks:
                    break
                self._put(found.ok_value)
        seen: set[TaskId] = set()
        for status in ("running", "queued"):
            for task in self._listed(TaskQuery(status=status)):
                self._put(task)
                seen.add(task.id)
        for task_id in [*(self._open - seen)]:
            self._put_newest(task_id)
        for task_id, end in log_ends(self._store, self._late).items():
            if end != self._late[task_id]:
                self._late[task_id] = end
                self._put_newest(task_id)
                self.touch(task_id)

    def _read_all(self) -> None:
        kept = {task.id: task for task in self._listed(TaskQuery())}
        for task_id in [*self._tasks]:
            if task_id not in kept:
                self._drop(task_id)
        for task in reversed(kept.values()):
            self._put(task)
        self._late |= log_ends(self._store, self._late)
        self._unread = self._store.count() - len(self._tasks)

    def _listed(self, query: TaskQuery) -> Iterable[ListedTask]:
        return (found.ok_value for found in self._store.list(query) if isinstance(found, Ok))

    def _put_newest(self, task_id: TaskId) -> None:
        found = self._store.get(task_id)
        if isinstance(found, Ok):
            self._put(ListedTask.of(found.ok_value))
        else:
            self._drop(task_id)

    def _put(self, task: ListedTask) -> None:
        known = self._tasks.get(task.id)
        if known == task:
            return
        if known is None:
            self._in_order = None
            if task.parent is not None:
                self._below.setdefault(task.parent, []).append(task.id)
            elif task.call is not None:
                self._started.setdefault(task.call, []).append(task.id)
            self._sizes[task.id] = 1 + sum(self._sizes.get(child, 0) for child in self._below.get(task.id, ()))
            self._grow_above(task, self._sizes[task.id])
        self._tasks[task.id] = task
        self._changed[task.id] = self.version
        (self._open.discard if task.is_terminal else self._open.add)(task.id)
        if task.is_terminal:
            self._late[task.id] = self._late.pop(task.id, 0)
            for oldest in [*self._late][:-_MOST_LATE]:
                del self._late[oldest]

    def _drop(self, task_id: TaskId) -> None:
        task = self._tasks.pop(task_id, None)
        if task is None:
            return
        self._in_order = None
        self._grow_above(task, -self._sizes.pop(task_id))
        siblings = self._below.get(task.parent or task.id) if task.parent else self._started.get(task.call or "")
        if siblings is not None and task_id in siblings:
            siblings.remove(task_id)
        self._open.discard(task_id)
        self._late.pop(task_id, None)
        self._changed.pop(task_id, None)
        self._gone[task_id] = self.version
        for oldest in [*self._gone][:-_MOST_GONE]:
            del self._gone[oldest]

    def _grow_above(self, task: ListedTask, by: int) -> None:
        """Count so many tasks more below each task above one."""
        for above in self._above(task):
            self._sizes[above.id] += by

    def _above(self, task: ListedTask) -> Iterable[ListedTask]:
        """Yield the tasks above one, the nearest first, each once."""
        seen = {task.id}
        while task.parent is not None and task.parent in self._tasks and task.parent not in seen:
            seen.add(task.parent)
            task = self._tasks[task.parent]
            yield task

    def touch(self, task_id: TaskId) -> None:
        """Note a change of a task that no list shows."""
        if task_id in self._tasks:
            self._changed[task_id] = self.version

    @property
    def unsettled(self) -> tuple[ListedTask, ...]:
        """The tasks that wait or run."""
        return tuple(self._tasks[task_id] for task_id in self._open)

    def queue(self) -> dict[TaskId, tuple[int, int]]:
        """Return the place of each queued task among those of the same lead or call, and the number of these."""
        together: dict[str, list[TaskId]] = {}
        for task_id in sorted(self._open, key=self._start):
            task = self._tasks[task_id]
            if task.status == "queued":
                together.setdefault(task.parent or task.call or task.id, []).append(task_id)
        return {
            task_id: (place, len(queued)) for queued in together.values() for place, task_id in enumerate(queued, 1)
        }

    @property
    def kept(self) -> int:
        """The number of all tasks."""
        return len(self._tasks)

    @property
    def profiles(self) -> list[str]:
        """The profiles of all tasks, in order."""
        return sorted({task.profile for task in self._tasks.values()})

    def get(self, task_id: str) -> ListedTask | None:
        """Return a task; None if it is not kept."""
        return self._tasks.get(TaskId(task_id))

    def chosen(self, filters: Filters, concerns: Mapping[TaskId, Concern]) -> tuple[list[ListedTask], Counts]:
        """Return the tasks that filters choose, and how many there are of each status without that.

        The newest start is first, and each task below the one that started it. `concerns` tells what is amiss.
        """
        if self._in_order is None:
            self._in_order = self._ordered()
        tasks = [self._tasks[task_id] for task_id in self._in_order]
        matching = [task for task in tasks if filters.matches(task)] if filters.are_any else tasks
        counts = counts_of(matching, concerns)
        if filters.statuses:
            matching = [task for task in matching if {task.status, concerns.get(task.id)} & filters.statuses]
        return matching, counts

    def _ordered(self) -> list[TaskId]:
        roots: dict[str, list[TaskId]] = {}
        for task in sorted(self._tasks.values(), key=_newest_first):
            if task.parent is None or task.parent not in self._tasks:
                roots.setdefault(task.id if task.parent is not None else task.call or task.id, []).append(task.id)
        tree: list[tuple[ListedTask, int]] = []
        for together in roots.values():
            self._collect(together, tree)
        placed = {task.id for task, _ in tree}
        return [*(task.id for task, _ in tree), *sorted(self._tasks.keys() - placed)]  # the rest are below themselves

    def counts(self, concerns: Mapping[TaskId, Concern]) -> Counts:
        """Return how many tasks there are of each status, and with something amiss."""
        return counts_of([*self._tasks.values()], concerns)

    def changed_after(self, version: int) -> list[ListedTask]:
        """Return the tasks that are new or have changed after a version, newest first."""
        changed = (self._tasks[task_id] for task_id, at in self._changed.items() if at > version)
        return sorted(changed, key=_newest_first)

    def gone_after(self, version: int) -> list[str]:
        """Return the tasks that have gone after a version."""
        return [task_id for task_id, at in self._gone.items() if at > version]

    def tree(self, task_id: str) -> list[tuple[ListedTask, int]]:
        """Return all tasks of the start that a task belongs to, each with its depth and below the one that started it.

        The tasks that one call of a program has started belong together.
        """
        task = self.root(task_id)
        if task is None:
            return []
        together = self._started.get(task.call or "", [])
        tree: list[tuple[ListedTask, int]] = []
        self._collect(together if task.id in together else [task.id], tree)
        return tree

    def root(self, task_id: str) -> ListedTask | None:
        """Return the first of the tasks that have started each other down to this one; None if it is not kept."""
        task = self.get(task_id)
        return None if task is None else [task, *self._above(task)][-1]

    def depth(self, task_id: TaskId) -> int:
        """Return the number of tasks that a task is below."""
        return sum(1 for _ in self._above(self._tasks[task_id]))

    def below(self, task_id: TaskId) -> int:
        """Return the number of tasks below a task, at any depth."""
        return self._sizes[task_id] - 1

    def open_below(self, task_id: TaskId) -> int:
        """Return the number of these that wait or run; all are counted at once for each version."""
        if self._opened[0] != self.version:
            opened = Counter(above.id for one in self._open for above in self._above(self._tasks[one]))
            self._opened = self.version, opened
        return self._opened[1][task_id]

    def children(self, task_id: TaskId) -> list[ListedTask]:
        """Return the tasks that a task has started."""
        return [self._tasks[child] for child in self._below.get(task_id, ()) if child in self._tasks]

    def _collect(self, roots: Sequence[TaskId], tree: list[tuple[ListedTask, int]]) -> None:
        left = [(task_id, 0) for task_id in sorted(roots, key=self._start, reverse=True)]
        seen: set[TaskId] = set()
        while left:
            task_id, depth = left.pop()
            if task_id in seen or task_id not in self._tasks:
                continue
            seen.add(task_id)
            tree.append((self._tasks[task_id], depth))
            below = sorted(self._below.get(task_id, ()), key=self._start, reverse=True)
            left += [(child, depth + 1) for child in below]

    def _start(self, task_id: TaskId) -> tuple[int, str]:
        task = self._tasks.get(task_id)
        return (0 if task is None else task.created_ms), task_id


def log_ends(store: Store, task_ids: Collection[TaskId]) -> Mapping[TaskId, int]:
    """Return where the logs of tasks end; of a store that keeps none, nothing."""
    log: TaskLog | None = getattr(store, "log", None)
    return log.newest(task_ids) if log is not None and task_ids else {}


def counts_of(tasks: Sequence[ListedTask], concerns: Mapping[TaskId, Concern]) -> Counts:
    """Count tasks by their status, and by what is amiss."""
    counts = Counts(queued=0, running=0, succeeded=0, failed=0, cancelled=0, asking=0, stuck=0)
    for status, number in Counter([task.status for task in tasks]).items():
        counts[status] = number
    for task in tasks if concerns else ():
        if (concern := concerns.get(task.id)) is not None:
            counts[concern] += 1
    return counts


def _newest_first(task: ListedTask) -> tuple[int, str]:
    return -task.created_ms, task.id
