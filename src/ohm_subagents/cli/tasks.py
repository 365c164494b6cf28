"""`ohm tasks`: what is kept, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from ohm_subagents._store.stored import EVERY, Listing
from ohm_subagents._views.cells import fit
from ohm_subagents._views.listing import listed
from ohm_subagents._views.projection import project_task
from ohm_subagents.cli.exits import BAD_USAGE, SUCCESS, complain
from ohm_subagents.cli.reading import NOTHING_KEPT
from ohm_subagents.cli.terminal import is_terminal, print_json, print_text, width
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.task import Status

if TYPE_CHECKING:
    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents.cli.registry import Registry
    from ohm_subagents.contract import Task

STATUSES = frozenset(get_args(Status))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which tasks, as typed."""

    status: str | None
    profile: str | None
    session: str | None
    limit: int


def print_tasks(wanted: Wanted, registry: Registry, config: OhmConfig, *, as_json: bool) -> int:
    """Print them, in as many lines as there are tasks or, on a terminal, twice as many; the exit code."""
    if wanted.status not in {None, *STATUSES}:
        complain(f"No task is ever '{wanted.status}'. Allowed: {', '.join(sorted(STATUSES))}.")
        return BAD_USAGE
    shown, more = _chosen(wanted, registry)
    if as_json:
        _print_envelopes(shown, more, registry, config)
        return SUCCESS
    if registry.place is None:
        print_text(NOTHING_KEPT)
    elif not shown:
        kept = registry.number(EVERY)
        print_text(f"None of the {kept} task(s) in '{registry.place}' is like that." if kept else _empty(registry))
    for task in shown:
        _print_listed(task, registry)
    if more:
        print_text(f"{more} more: add --limit {len(shown) + more}")
    return SUCCESS


def _chosen(wanted: Wanted, registry: Registry) -> tuple[list[Task], int]:
    """Those to show, and how many more there are, which are counted and not read."""
    listing = Listing(status=wanted.status, profile=wanted.profile, session=wanted.session)
    shown: list[Task] = []
    for number, found in enumerate(registry.outlines(listing), 1):
        if isinstance(found, Err):
            if all(each.message != found.err_value.message for each in registry.diagnostics):  # those are told anyway
                complain(found.err_value)
        elif wanted.status in {None, found.ok_value.status}:  # its process may have died since it was written
            shown.append(found.ok_value)
        if len(shown) == wanted.limit:
            return shown, max(0, registry.number(listing) - number)
    return shown, 0


def _empty(registry: Registry) -> str:
    return f"No tasks are kept in '{registry.place}'."


def _print_listed(task: Task, registry: Registry) -> None:
    first, second = listed(task, now_ms=registry.now_ms, where=registry.where(task))
    if is_terminal():
        print_text(f"{fit(first, width())}\n{fit(second, width())}")
    else:
        print_text(f"{first} · {second.strip()}")


def _print_envelopes(shown: list[Task], more: int, registry: Registry, config: OhmConfig) -> None:
    whole = (registry.get(task.id) for task in shown)
    print_json(
        [
            project_task(found.ok_value, output_max_chars=config.output_max_chars).payload()
            for found in whole
            if isinstance(found, Ok)
        ]
    )
    if registry.place is None:
        complain(NOTHING_KEPT)
    if more:
        complain(f"{more} more: add --limit {len(shown) + more}")
