"""`ohm tasks --cost --by`: what tasks have used, added up."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ohm_subagents._terminal.lookup import NOTHING_KEPT
from ohm_subagents.cli.reading import ANY, listed
from ohm_subagents.commands import SUCCESS, complain, is_terminal, print_json, print_text, width
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.task import UNAVAILABLE
from ohm_subagents.views import cost_csv, cost_records, cost_rows, cost_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.cli.reading import Below
    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import ListedTask
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.store import Store, TaskQuery
    from ohm_subagents.views import CostKey


async def print_costs(
    query: TaskQuery,
    by: CostKey,
    form: Literal["table", "csv", "json"],
    store: Store,
    config: OhmConfig,
    *,
    below: Below = ANY,
) -> int:
    """Print what all tasks that a query chooses have used; return the exit code."""
    among = below.ids(store, config, as_json=form == "json")
    if isinstance(among, int):
        return among
    rows = cost_rows(_listed(query, among, by, store), by)
    if form == "json":
        print_json(cost_records(rows, by))
    elif form == "csv":
        print_text(cost_csv(rows, by))
    elif store.place is None:
        print_text(NOTHING_KEPT)
    elif not rows:
        print_text(f"There is no such task in '{store.place}'.")
    else:
        print_text("\n".join(cost_table(rows, by, width=width() if is_terminal() else sys.maxsize)))
    return SUCCESS


def _listed(query: TaskQuery, among: frozenset[TaskId] | None, by: CostKey, store: Store) -> Iterator[ListedTask]:
    for found in listed(query, store, among):
        if isinstance(found, Err):
            complain(found.err_value)
            continue
        task = found.ok_value
        if by == "model" and task.model is None and isinstance(whole := store.get(task.id), Ok):
            route = whole.ok_value.route  # the row of an earlier release does not tell it
            if route.model != UNAVAILABLE:
                task = replace(task, model=f"{route.provider}/{route.model}")
        yield task
