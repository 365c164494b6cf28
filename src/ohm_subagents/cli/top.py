"""`ohm top`: the tasks that all processes run, live, one of which can be chosen, opened and steered."""

from __future__ import annotations

import signal
import sys
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._terminal.live import watched
from ohm_subagents._terminal.lookup import NOTHING_KEPT
from ohm_subagents.cli.fleet import Fleet
from ohm_subagents.cli.follow import drawn_with_those_below, steered
from ohm_subagents.cli.table import Table
from ohm_subagents.commands import (
    SUCCESS,
    TASK_FAILED,
    Board,
    complain,
    is_terminal,
    print_styled,
    print_text,
    report,
    system_clock,
    terminal_theme,
    until_signal,
)
from ohm_subagents.config import load_config, process_env
from ohm_subagents.contract import Ok
from ohm_subagents.store import MemoryStore, stored_tasks, watched_tasks
from ohm_subagents.views import PLAIN, fleet_lines

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskGroup

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import Task
    from ohm_subagents.store import Store
    from ohm_subagents.views import FleetSort

_LOOK_S: Final = 1.0
"""The interval at which it is looked whether there is a file of tasks now, or what is in one that is no database."""


async def top(sort: FleetSort, settled: int, cwd: Path, file: Path | None, store: Store, _config: OhmConfig) -> int:
    """Show the tasks of all processes until `q` is pressed; once, where no terminal is there. Return the exit code.

    `cwd` is the directory that was typed, and `file` the ohm.json of `--config`: keys steer with these.
    """
    if store.place is None:
        print_text(NOTHING_KEPT)
        return SUCCESS
    fleet = Fleet(store, settled=settled)
    if not is_terminal():
        whole = partial(fleet_lines, width=sys.maxsize, height=sys.maxsize, theme=PLAIN)
        print_styled("\n".join(whole(fleet.rows, sort=sort, now_ms=system_clock())))
        return SUCCESS
    ended = await until_signal(partial(_live, fleet, sort, cwd, file))
    if fleet.store is not store:
        report(each for each in fleet.store.diagnostics if each not in store.diagnostics)
    if isinstance(ended, OSError):
        why = str(ended)
        complain(f"{why[:1].upper()}{why[1:]}.")
        return TASK_FAILED
    return SUCCESS if ended in {None, signal.SIGINT} else 128 + int(ended or 0)


async def _live(fleet: Fleet, sort: FleetSort, cwd: Path, file: Path | None) -> OSError | None:
    failed: OSError | None = None
    async with anyio.create_task_group() as group:
        table = Table(fleet, sort, opens=partial(_opened, file, fleet, group))
        async with watched(steered(cwd, file), table):
            failed = await _followed(fleet, table, cwd, file)
        group.cancel_scope.cancel()
    return failed


async def _followed(fleet: Fleet, table: Table, cwd: Path, file: Path | None) -> OSError | None:
    """Show what is new until this is cancelled; return why the store cannot be used, where it cannot any more."""
    loaded = load_config(cwd=cwd, config=file, env=process_env())
    while isinstance(fleet.store, MemoryStore) and isinstance(loaded, Ok):  # what comes later is not in there
        await anyio.sleep(_LOOK_S)
        async with AsyncExitStack() as opened:
            try:
                newest = await opened.enter_async_context(stored_tasks(loaded.ok_value, cwd=cwd))
            except OSError as exc:
                return exc
            fleet.turn_to(newest)
            table.tell_news()
            if not isinstance(newest, MemoryStore):
                await _shown(fleet, table, file)
    await _shown(fleet, table, file)
    return None


async def _shown(fleet: Fleet, table: Table, file: Path | None) -> None:
    """Show what is new in a store that tells of it, until this is cancelled."""
    async with anyio.create_task_group() as group:
        table.opens = partial(_opened, file, fleet, group)  # what is opened is left before the store is
        async for _ in watched_tasks(fleet.store):
            fleet.read()
            table.tell_news()


def _opened(file: Path | None, fleet: Fleet, group: TaskGroup, task: Task, table: Table) -> Board:
    """Return a view of a task with those below it, which follows them until it is left for the table."""
    board, following = Board(terminal_theme(), config=file), anyio.CancelScope()

    def back() -> Table:
        following.cancel()
        return table

    async def followed() -> None:
        with following:
            await drawn_with_those_below(task, fleet.store, board)

    board.back = back
    board.show(task)
    group.start_soon(followed)
    return board
