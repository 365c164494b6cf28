"""The tasks of all processes: those that go on, and what has settled of the starts that they are of."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

from ohm_subagents._terminal.lookup import short_id
from ohm_subagents.cli.reading import Accounts, owner_of
from ohm_subagents.commands import is_terminal, system_clock
from ohm_subagents.contract import ListedTask, Ok
from ohm_subagents.store import TaskQuery
from ohm_subagents.views import FleetRow, doing_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ohm_subagents.contract import Task
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.store import Store

_MOST_SETTLED: Final = 200
"""So many are kept in sight, the ones that ended last; a store keeps no more unless it is told to."""
_LATE_MS: Final = 10_000
"""A task may be stored so long after it has begun."""


class Fleet:
    """The newest rows, read anew as often as `read` is called: no look reads all that is kept."""

    def __init__(self, store: Store, *, settled: int) -> None:
        """`settled` is the number of other settled tasks, the newest ones."""
        self.rows: list[FleetRow] = []
        """The tasks that go on or wait, and those that have settled."""
        self.store = store
        """The store that is read."""
        self._others = settled
        self._opened_ms = self._read_ms = system_clock()
        self._going: frozenset[TaskId] = frozenset()
        self._settled: dict[TaskId, FleetRow] = {}
        self._other: dict[TaskId, FleetRow] = {}
        self._asked: set[TaskQuery] = set()
        self._short: dict[str, str] = {}
        self.read()

    def task(self, task_id: TaskId) -> Task | None:
        """Return all that is known of a task now; None if it is not kept."""
        return self.store.get(task_id).ok()

    def turn_to(self, store: Store) -> None:
        """Read another store from now on; what the last one was asked once is asked anew."""
        self.store = store
        self._asked.clear()
        self.read()

    def read(self) -> None:
        """Read the tasks that have not settled, what has settled since, and what belongs to those."""
        now_ms = system_clock()
        going = {task.id: task for status in ("queued", "running") for task in self._list(TaskQuery(status=status))}
        found = (self.store.get(task_id) for task_id in self._going - going.keys())
        since = [ListedTask.of(one.ok_value) for one in found if isinstance(one, Ok)]
        going |= {task.id: task for task in since if not task.is_terminal}  # its status has changed between two lists
        self._add(since)
        self._add(self._come_and_gone())
        self._add_relatives(going)
        self._going, self._read_ms = frozenset(going), now_ms
        last = sorted(self._settled.values(), key=lambda row: row.listed.ended_ms or 0)[-_MOST_SETTLED:]
        self._settled = {row.listed.id: row for row in last}
        accounts = Accounts(self.store)
        rows = [self._at_work(task, accounts) for task in going.values()]
        self.rows = [*rows, *(row for row in last if row.listed.id not in going), *self._newest_others(going.keys())]

    def _come_and_gone(self) -> Iterator[ListedTask]:
        """Yield the tasks that have begun since the last look, or shortly before, and have settled in sight."""
        begun = takewhile(lambda task: task.created_ms >= self._read_ms - _LATE_MS, self._list(TaskQuery()))
        return (task for task in begun if (task.ended_ms or 0) >= self._opened_ms)

    def _add(self, found: Iterable[ListedTask]) -> list[ListedTask]:
        """Take those that have settled and that are not there yet; return them."""
        new = [task for task in found if task.is_terminal and task.id not in self._settled]
        self._settled |= {task.id: self._ended(task) for task in new}
        return new

    def _add_relatives(self, going: Mapping[TaskId, ListedTask]) -> None:
        """Take what has settled of the starts and trees of some tasks, each of which is asked for once."""
        left = [*going.values()]
        while left:
            task = left.pop()
            is_known = task.parent is None or task.parent in going or task.parent in self._settled
            above = [] if is_known or task.parent is None else [self.store.get(task.parent)]
            left += self._add(ListedTask.of(one.ok_value) for one in above if isinstance(one, Ok))
            for query in _relatives(task):
                if query not in self._asked:
                    self._asked.add(query)
                    left += self._add(self._list(query))

    def _newest_others(self, going: Iterable[TaskId]) -> list[FleetRow]:
        seen = {*self._settled, *going}
        others = (task for task in self._list(TaskQuery()) if task.is_terminal and task.id not in seen)
        shown = [*islice(others, self._others)] if self._others else []
        self._other = {task.id: self._other.get(task.id) or self._ended(task) for task in shown}
        return [*self._other.values()]

    def _at_work(self, listed: ListedTask, accounts: Accounts) -> FleetRow:
        """Return a task with its process, and of one that runs all that is known."""
        task = self.task(listed.id) if listed.status == "running" else None
        listed = listed if task is None else replace(listed, account=accounts.of(task))
        return FleetRow(listed, owner_of(listed, self.store), task, self._short_id(listed.id))

    def _ended(self, task: ListedTask) -> FleetRow:
        """Return a settled task, and how it ended."""
        whole = self.task(task.id) if is_terminal() else None
        said, short = "" if whole is None else doing_text(whole, now_ms=system_clock()), self._short_id(task.id)
        return FleetRow(task, short_id=short, said=said.replace(task.id, short) if short else said)

    def _short_id(self, task_id: TaskId) -> str:
        if is_terminal() and task_id not in self._short:
            self._short[task_id] = short_id(task_id, self.store)
        return self._short.get(task_id, "")

    def _list(self, query: TaskQuery) -> Iterator[ListedTask]:
        return (one.ok_value for one in self.store.list(query) if isinstance(one, Ok))


def _relatives(task: ListedTask) -> Iterator[TaskQuery]:
    """Yield what chooses the tasks of the same start, side by side with a task, and below it where some may be."""
    if task.start is not None:
        yield TaskQuery(start=task.start)
    if task.call is not None:
        yield TaskQuery(call=task.call)
    if task.parent is not None:
        yield TaskQuery(parent=task.parent)
    has_below = task.account is not None and task.account.below is not None
    if has_below or task.status == "running":
        yield TaskQuery(parent=task.id)
