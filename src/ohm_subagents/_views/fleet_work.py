"""The lines below the rows of a table of tasks: what each does, waits for or asks, or how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._views.cells import one_line
from ohm_subagents._views.doing import doing_lines
from ohm_subagents._views.live_task import LiveTask, awaited_tasks
from ohm_subagents._views.work_facts import telling_rank

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from ohm_subagents._views.fleet_row import FleetRow
    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.work_facts import Concern
    from ohm_subagents.contract.ids import TaskId

_HUNG, _BELOW = "╰ ", "  "
_MOST_ASKED: Final = 4
"""The most lines of what a task asks."""


class _Told(NamedTuple):
    """A row of which there is something to tell."""

    row: FleetRow
    live: LiveTask | None
    """The task at work; None for one that has settled."""

    def rank(self, now_ms: int) -> int:
        """Return its place among those that are told of."""
        concern = None if self.live is None else self.live.concern(now_ms=now_ms)
        return telling_rank(concern or self.row.listed.status)

    def lines(self, now_ms: int, width: int, limit: int) -> list[list[Span]]:
        """Return it in so many lines at most."""
        if self.live is not None:
            return doing_lines(self.live, now_ms=now_ms, width=width, limit=limit)
        return [[("error" if self.row.listed.status == "failed" else "dim", one_line(self.row.said))]]


def work_lines(
    shown: Sequence[FleetRow],
    rows: Sequence[FleetRow],
    patient: Container[TaskId | None],
    *,
    spare: int,
    now_ms: int,
    width: int,
    margin: int,
    has_keys: bool,
) -> dict[TaskId, list[list[Span]]]:
    """Return what is told below the shown ones of these rows, in `spare` lines at most, `margin` cells from the left.

    Those that need somebody have the first ones, and those that have settled the last. With keys that answer what is
    asked, nobody needs the id of a request.
    """
    live = {
        row.listed.id: LiveTask(row.task, is_patient=row.listed.id in patient, is_answered_here=has_keys)
        for row in rows
        if row.task is not None
    }
    concerns: dict[TaskId, Concern | None] = {task_id: one.concern(now_ms=now_ms) for task_id, one in live.items()}
    awaited = awaited_tasks((row.listed for row in rows), concerns)
    told = [
        _Told(row, found and found._replace(awaited=awaited.get(row.listed.id)))
        for row in shown
        if (found := live.get(row.listed.id)) is not None or row.said
    ]
    told.sort(key=lambda one: one.rank(now_ms))
    lines: dict[TaskId, list[list[Span]]] = {}
    for number, one in enumerate(told[: max(0, spare)]):
        room = min(_MOST_ASKED, spare - min(len(told), spare) + number + 1 - sum(map(len, lines.values())))
        below = one.lines(now_ms, max(1, width - margin - len(_HUNG)), room)
        lines[one.row.listed.id] = [
            [("dim", " " * margin + (_BELOW if at else _HUNG)), *line] for at, line in enumerate(below)
        ]
    return lines
