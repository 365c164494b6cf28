"""A task of any process as a row of a table, and the order of these rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from ohm_subagents._views.live_task import patient_tasks
from ohm_subagents._views.task_texts import elapsed_ms
from ohm_subagents._views.tree_order import in_tree
from ohm_subagents._views.work_facts import concern_of, sight_rank
from ohm_subagents.contract.listed_task import ListedTask  # noqa: TC001  the types of a public record are read at run time
from ohm_subagents.contract.task import Task  # noqa: TC001  likewise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ohm_subagents._views.work_facts import State
    from ohm_subagents.contract.ids import TaskId

FleetSort = Literal["cost", "time", "tokens", "profile"]
FLEET_SORTS: Final[tuple[FleetSort, ...]] = get_args(FleetSort)


class FleetRow(NamedTuple):
    """A task of any process."""

    listed: ListedTask
    """The task as a list shows it."""
    where: str = ""
    """The process that runs it (`Store.owner`); empty for a settled one."""
    task: Task | None = None
    """All that is known of it, to tell of one that runs what it waits for or how long it has been quiet."""
    short_id: str = ""
    """As much of its id as names it; empty for the whole one."""
    depth: int = 0
    """The number of shown tasks that it is below."""
    said: str = ""
    """The end of one that has settled, told on a line (`doing_text`)."""


def fleet_order(rows: Sequence[FleetRow], *, sort: FleetSort, now_ms: int) -> list[FleetRow]:
    """Return rows in the order in which `fleet_lines` draws them, each with its depth.

    A task stands below the one that has started it. Side by side those that need somebody are first, or of which
    something below does, then those that run, and what has settled last; alike ones are sorted.
    """
    ranks = fleet_ranks(rows, fleet_states(rows, now_ms=now_ms))
    side_by_side = sorted(rows, key=lambda row: (ranks[row.listed.id], _key(row, sort, now_ms)))
    tree = in_tree(side_by_side, lambda row: (row.listed.id, row.listed.parent))
    return [row._replace(depth=depth) for depth, row in tree]


def fleet_states(rows: Sequence[FleetRow], *, now_ms: int) -> dict[TaskId, State]:
    """Return the status of each task, or why it needs somebody; one that waits for one of its own is never stuck."""
    patient = patient_tasks(row.listed for row in rows)
    return {
        row.listed.id: (row.task and concern_of(row.task, now_ms=now_ms, is_patient=row.listed.id in patient))
        or row.listed.status
        for row in rows
    }


def fleet_ranks(rows: Sequence[FleetRow], states: Mapping[TaskId, State]) -> dict[TaskId, int]:
    """Return the place of each task by its state, or by the first one of those below it."""
    parents = {row.listed.id: row.listed.parent for row in rows}
    ranks = {row.listed.id: sight_rank(states[row.listed.id]) for row in rows}
    for row in rows:
        rank, above = ranks[row.listed.id], row.listed.parent
        while above is not None and ranks.get(above, rank) > rank:
            ranks[above] = rank
            above = parents[above]
    return ranks


def _key(row: FleetRow, sort: FleetSort, now_ms: int) -> tuple[float, str]:
    used = row.listed.tree_usage
    match sort:
        case "cost":
            return -float(used.cost_usd or 0), row.listed.id
        case "time":
            return -elapsed_ms(row.listed, now_ms=now_ms), row.listed.id
        case "tokens":
            return -(used.input_tokens + used.output_tokens), row.listed.id
        case "profile":
            return 0, f"{row.listed.profile} {row.listed.id}"
