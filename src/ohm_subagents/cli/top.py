"""`ohm top`: the tasks that all processes run, live, one of which can be chosen, opened and steered."""

from __future__ import annotations

import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._terminal.live import watched
from ohm_subagents._terminal.lookup import NOTHING_KEPT
from ohm_subagents.cli.fleet import Fleet
from ohm_subagents.cli.follow import drawn_with_those_below, steered
from ohm_subagents.cli.table import Table
from ohm_subagents.commands import (
    SUCCESS,
    Board,
    is_terminal,
    print_styled,
    print_text,
    system_clock,
    terminal_theme,
    until_signal,
)
from ohm_subagents.store import watched_tasks
from ohm_subagents.views import PLAIN, fleet_lines

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskGroup

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import Task
    from ohm_subagents.store import Store
    from ohm_subagents.views import FleetSort


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
    ended = await until_signal(partial(_live, fleet, sort, cwd, file, store))
    return SUCCESS if ended in {None, signal.SIGINT} else 128 + int(ended or 0)


async def _live(fleet: Fleet, sort: FleetSort, cwd: Path, file: Path | None, store: Store) -> None:
    async with anyio.create_task_group() as group:
        table = Table(fleet, sort, opens=partial(_opened, file, store, group))
        async with watched(steered(cwd, file), table):
            async for _ in watched_tasks(store):
                fleet.read()
                table.tell_news()


def _opened(file: Path | None, store: Store, group: TaskGroup, task: Task, table: Table) -> Board:
    """Return a view of a task with those below it, which follows them until it is left for the table."""
    board, following = Board(terminal_theme(), config=file), anyio.CancelScope()

    def back() -> Table:
        following.cancel()
        return table

    async def followed() -> None:
        with following:
            await drawn_with_those_below(task, store, board)

    board.back = back
    board.show(task)
    group.start_soon(followed)
    return board
