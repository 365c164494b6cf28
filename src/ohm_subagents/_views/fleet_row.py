"""A task of any process as a row of a table, and the order of these rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from ohm_subagents._views.task_texts import elapsed_ms
from ohm_subagents._views.tree_order import in_tree
from ohm_subagents.contract.listed_task import ListedTask  # noqa: TC001  the types of a public record are read at run time
from ohm_subagents.contract.task import Task  # noqa: TC001  likewise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents.contract.ids import TaskId

FleetSort = Literal["cost", "time", "tokens", "profile"]
FLEET_SORTS: Final[tuple[FleetSort, ...]] = get_args(FleetSort)


class FleetRow(NamedTuple):
    """A task of any process."""

    task: ListedTask
    """The task as a list shows it."""
    where: str = ""
    """The process that runs it (`Store.owner`); empty for a settled one."""
    work: Task | None = None
    """All that is known of it, to tell of one that runs what it waits for or how long it has been quiet."""
    short_id: str = ""
    """As much of its id as names it; empty for the whole one."""
    depth: int = 0
    """The number of shown tasks that it is below."""
    said: str = ""
    """The end of one that has settled, told on a line (`doing_text`)."""


def fleet_order(rows: Sequence[FleetRow], *, sort: FleetSort, now_ms: int) -> list[FleetRow]:
    """Return rows in the order in which `fleet_lines` draws them, each with its depth.

    A task stands below the one that has started it. Side by side those that go on, or of which something below goes
    on, are first, and then they are sorted.
    """
    going = _going(rows)
    side_by_side = sorted(rows, key=lambda row: (row.task.id not in going, _key(row, sort, now_ms)))
    tree = in_tree(side_by_side, lambda row: (row.task.id, row.task.parent))
    return [row._replace(depth=depth) for depth, row in tree]


def _going(rows: Sequence[FleetRow]) -> set[TaskId | None]:
    """Return the ids of the tasks that have not settled, and of all above them."""
    parents = {row.task.id: row.task.parent for row in rows}
    going: set[TaskId | None] = {None}
    for row in rows:
        above = None if row.task.is_terminal else row.task.id
        while above not in going:
            going.add(above)
            above = None if above is None else parents.get(above)
    return going


def _key(row: FleetRow, sort: FleetSort, now_ms: int) -> tuple[float, str]:
    used = row.task.tree_usage
    match sort:
        case "cost":
            return -float(used.cost_usd or 0), row.task.id
        case "time":
            return -elapsed_ms(row.task, now_ms=now_ms), row.task.id
        case "tokens":
            return -(used.input_tokens + used.output_tokens), row.task.id
        case "profile":
            return 0, f"{row.task.profile} {row.task.id}"
