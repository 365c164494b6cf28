"""The tasks of all processes as a table on a terminal, in which keys choose a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._terminal.hint import Note, hint_lines
from ohm_subagents._terminal.selection import ARROWS, Selection
from ohm_subagents._terminal.shown import Leave, count_going_below
from ohm_subagents.commands import system_clock, terminal_theme
from ohm_subagents.views import fleet_lines, fleet_order, fleet_sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._terminal.shown import Shown
    from ohm_subagents.cli.fleet import Fleet
    from ohm_subagents.contract import Request, Task, TaskId
    from ohm_subagents.views import FleetRow, FleetSort

_SORTS: Final[dict[str, FleetSort]] = {"c": "cost", "t": "time", "k": "tokens", "p": "profile"}


class Table:
    """The rows of a fleet as they are drawn, until a task is opened: see `Shown`."""

    def __init__(self, fleet: Fleet, sort: FleetSort, *, opens: Callable[[Task, Table], Shown]) -> None:
        self.opens = opens
        """Returns the view of a task that is opened from this one."""
        self.has_keys = False
        self.note = Note()
        self.news = anyio.Event()
        self.selection = Selection()
        self._fleet = fleet
        self._sort: FleetSort = sort
        self._theme = terminal_theme()

    @property
    def asks_at_once(self) -> bool:
        """False: nobody is asked before a key is pressed for it."""
        return False

    @property
    def chosen_task(self) -> Task | None:
        """The task that was chosen, or the only one."""
        rows = self._fleet.rows
        found = [row for row in rows if len(rows) == 1 or row.listed.id == self.selection.chosen]
        return self.task(found[0].listed.id) if found else None

    @property
    def follow_up_task(self) -> Task | None:
        """The same: a follow-up goes to no other one."""
        return self.chosen_task

    @property
    def next_request(self) -> Request | None:
        """The request of the chosen task; where that asks nothing, of the first that does."""
        asking = [row.task for row in self._ordered() if row.task is not None and row.task.requests]
        chosen = [one for one in asking if one.id == self.selection.chosen]
        return next((one.requests[0] for one in chosen or asking), None)

    def task(self, task_id: TaskId) -> Task | None:
        """Return all that is known of a task now; None if it is not kept."""
        return self._fleet.task(task_id)

    def going_below(self, task_id: TaskId) -> int:
        """Return how many tasks below one have not settled."""
        return count_going_below(task_id, (row.listed for row in self._ordered()))

    def sum_line(self, width: int) -> str:
        """Return what the tasks came to so far, without colours."""
        return fleet_sums(self._fleet.rows, now_ms=system_clock(), width=width)

    def tell_news(self) -> None:
        """Wake those who wait for news."""
        news, self.news = self.news, anyio.Event()
        news.set()

    def press(self, key: str) -> Shown | Leave | None:
        """Choose or open a row, sort them, or leave."""
        match key:
            case "q":
                return Leave.PROGRAM
            case "\x1b":
                self.selection.chosen = None
            case "\n" | "\r":
                return self._open()
            case _ if key in _SORTS:
                self._sort = _SORTS[key]
            case _ if key in ARROWS:
                self.selection.move([row.listed.id for row in self._ordered()], ARROWS[key])
            case _:
                return None
        return self

    def _open(self) -> Shown:
        if self.selection.chosen is None:
            self.selection.move([row.listed.id for row in self._ordered()], 0)
        chosen = self.selection.chosen
        task = None if chosen is None else self.task(chosen)
        return self if task is None else self.opens(task, self)

    def frame(self, width: int, height: int) -> str:
        """Draw the rows, and below them the note or the keys that there are."""
        rows, keys = self._fleet.rows, [("dim", key) for key in self._keys()] if self.has_keys else []
        note = self.note.told(row.task for row in rows if row.task is not None)
        hint = hint_lines(keys, note, width, self._theme)
        lines = fleet_lines(
            rows,
            sort=self._sort,
            now_ms=system_clock(),
            width=width,
            height=max(1, height - len(hint)),
            theme=self._theme,
            with_work=True,
            chosen=(self.selection.chosen or "") if self.has_keys else None,
        )
        return "\n".join([*lines, *hint])

    def _keys(self) -> list[str]:
        sorts = [f"{key} {'▾ ' if sort == self._sort else ''}{sort}" for key, sort in _SORTS.items()]
        if not self._fleet.rows:
            return ["q quit"]
        steer = ["s send", *(["a answer"] if self.next_request is not None else []), "x cancel"]
        return ["q quit", "↑↓ choose ▸", "Enter open", *steer, *sorts]

    def _ordered(self) -> list[FleetRow]:
        return fleet_order(self._fleet.rows, sort=self._sort, now_ms=system_clock())
