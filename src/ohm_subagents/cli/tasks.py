"""`ohm tasks`: the kept tasks, newest first."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from ohm_subagents._terminal.lookup import NOTHING_KEPT, short_id
from ohm_subagents.cli.reading import ANY, STUCK, Accounts, Below, concerns_in, listed, owner_of
from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    complain,
    is_terminal,
    print_json,
    print_styled,
    print_text,
    system_clock,
    terminal_theme,
    width,
    with_config,
)
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.task import Status
from ohm_subagents.store import NO_PROCESS, TaskQuery
from ohm_subagents.views import (
    CONCERNS,
    STUCK_RULE,
    awaited_tasks,
    doing_text,
    in_tree,
    list_counts,
    state_text,
    task_envelope,
    task_list_lines,
    total_line,
    unpriced_text,
    wrap,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import ListedTask
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.store import Store
    from ohm_subagents.views import Awaited, Concern

_LIMIT: Final = 20
STATES = frozenset({*get_args(Status), *CONCERNS})


async def print_tasks(
    query: TaskQuery,
    limit: int | None,
    store: Store,
    config: OhmConfig,
    *,
    below: Below = ANY,
    with_cost: bool = False,
    as_json: bool,
) -> int:
    """Print them, a line each; on a terminal two, and more for long words or costs. Return the exit code."""
    if query.status not in {None, *STATES}:
        complain(f"No task is ever '{query.status}'. Allowed: {', '.join(sorted(STATES))}.")
        return BAD_USAGE
    among = below.ids(store, config, as_json=as_json)
    if isinstance(among, int):
        return among
    limit = limit or (_LIMIT if among is None else len(among))
    shown, more = _chosen(query, limit, store, among)
    if as_json:
        _print_envelopes(shown, more, store, config)
        return SUCCESS
    if store.place is None:
        print_text(NOTHING_KEPT)
    elif not shown:
        kept = store.count(TaskQuery())
        print_text(_without(query, kept, store, below) if kept else f"No tasks are kept in '{store.place}'.")
    concerns = concerns_in(store) if any(task.status == "running" for task in shown) else {}
    children = [one for task in shown if not task.is_terminal for one in store.list(TaskQuery(parent=task.id))]
    awaited = awaited_tasks((one.ok_value for one in children if isinstance(one, Ok)), concerns)
    known = _Known(store, concerns, awaited, Accounts(store) if with_cost else None)
    for depth, task in _in_trees(shown) if is_terminal() else ((0, task) for task in shown):
        _print_listed(task, known, depth)
    if shown and with_cost:
        print_text("\n".join(wrap(total_line(shown, of=len(shown) + more), width() if is_terminal() else sys.maxsize)))
    left = sum(owner_of(task, store) == NO_PROCESS for task in shown)
    _tell_states([concerns.get(task.id, task.status) for task in shown], left, len(shown) + more, below.file)
    _tell_more(shown, more, with_cost=with_cost)
    return SUCCESS


def _tell_states(states: Sequence[Concern | Status], left: int, kept: int, file: Path | None) -> None:
    """Say what stuck is, and at the end of a long list, of which the beginning may be out of sight, what is in it."""
    if "stuck" in states:
        complain(STUCK_RULE if is_terminal() else STUCK)
    if is_terminal() and states[1:]:
        print_styled(list_counts(states, of=kept, left=left, width=width(), theme=terminal_theme()))
    if is_terminal() and "asking" in states:
        print_text(f"Answer: {with_config('ohm requests', file)}")


def _tell_more(shown: Sequence[ListedTask], more: int, *, with_cost: bool = False) -> None:
    """Say how many tasks are not shown, and how to have these or what all of them cost."""
    if more:
        summed = "; --by profile adds up all of them" if with_cost else ""
        complain(f"{more} more {'task' if more == 1 else 'tasks'}: --limit {len(shown) + more}{summed}")


def _in_trees(shown: Sequence[ListedTask]) -> Iterator[tuple[int, ListedTask]]:
    """Yield each task with its depth: the newest start first, and below a task those that it has started, in order."""
    trees: dict[TaskId, list[tuple[int, ListedTask]]] = {}
    group: list[tuple[int, ListedTask]] = []
    for depth, task in in_tree(shown[::-1], lambda task: (task.id, task.parent)):
        if not depth:  # tasks of one parent that is not shown stay together
            group = trees.setdefault(task.parent or task.id, [])
        group.append((depth, task))
    for tree in reversed(trees.values()):
        yield from tree


def _chosen(
    query: TaskQuery, limit: int, store: Store, among: frozenset[TaskId] | None
) -> tuple[list[ListedTask], int]:
    """Return the tasks to show, and the number of others, which are counted and not read."""
    shown: list[ListedTask] = []
    for number, found in enumerate(listed(query, store, among), 1):
        if isinstance(found, Err):
            if all(each.message != found.err_value.message for each in store.diagnostics):  # those are printed anyway
                complain(found.err_value)
        elif query.status in {None, found.ok_value.status, *CONCERNS}:  # its process may have died since it was written
            shown.append(found.ok_value)
        if len(shown) == limit:
            is_counted = among is None and query.status not in CONCERNS
            kept = store.count(query) if is_counted else sum(1 for _ in listed(query, store, among))
            return shown, max(0, kept - number)
    return shown, 0


def _without(query: TaskQuery, kept: int, store: Store, below: Below) -> str:
    """Say that no task is like the query, of those that are kept."""
    if query.status in CONCERNS and query == TaskQuery(status=query.status) and below.typed is None:
        return f"Nothing is {query.status} ({kept} {'task' if kept == 1 else 'tasks'} kept)."
    asked = {"status": query.status, "subagent": query.profile, "session": query.session}
    wanted = " and ".join(f"the {name} '{value}'" for name, value in asked.items() if value is not None)
    if below.typed is not None:
        return f"No task of the tree of '{below.typed}' has {wanted}."
    return f"No task in '{store.place}' has {wanted} (kept there: {kept})."


class _Known(NamedTuple):
    """All that a task is listed with; without `accounts` its usage is told in short."""

    store: Store
    concerns: Mapping[TaskId, Concern]
    awaited: Mapping[TaskId | None, Awaited]
    accounts: Accounts | None


def _print_listed(task: ListedTask, known: _Known, depth: int) -> None:
    store, accounts, concern = known.store, known.accounts, known.concerns.get(task.id)
    with_cost = accounts is not None
    found = None if task.status == "queued" else store.get(task.id)
    whole = found.ok_value if isinstance(found, Ok) else None
    now_ms, state, why = system_clock(), "", ""
    if whole is not None:
        task = task if accounts is None else replace(task, account=accounts.of(whole))
        state = state_text(whole, concern, now_ms=now_ms)
        why = (
            ""
            if with_cost and task.status == "succeeded"
            else doing_text(whole, now_ms=now_ms, is_patient=concern is None, awaited=known.awaited.get(task.id))
        )
    shown_id = short_id(task.id, store) if is_terminal() else task.id
    why = why.replace(task.id, shown_id)  # the one that it is listed with
    lines = partial(
        task_list_lines,
        task,
        now_ms=now_ms,
        state=state,
        concern=concern,
        where=owner_of(task, store),
        why=why,
        with_cost=with_cost,
        unpriced="" if whole is None else unpriced_text(whole),
        depth=depth,
        is_below=is_terminal() and not depth and task.parent is not None,
    )
    if is_terminal():
        asking = whole if concern == "asking" else None
        shown = lines(asking=asking, short_id=shown_id, width=width(), theme=terminal_theme())
        print_styled("\n".join(shown))
    else:
        first, second, *_ = lines()
        print_text(f"{first} · {second.strip()}")


def _print_envelopes(shown: list[ListedTask], more: int, store: Store, config: OhmConfig) -> None:
    whole = (store.get(task.id) for task in shown)
    print_json(
        [
            task_envelope(found.ok_value, output_max_chars=config.output_max_chars).payload()
            for found in whole
            if isinstance(found, Ok)
        ]
    )
    if store.place is None:
        complain(NOTHING_KEPT)
    _tell_more(shown, more)
