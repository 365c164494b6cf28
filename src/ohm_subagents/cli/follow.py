"""`ohm task <id> --follow`: what a task of any process does, as its store has it, until it has settled."""

from __future__ import annotations

import signal
import sys
from contextlib import aclosing, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._terminal.finished import print_batch, tell_failure
from ohm_subagents._terminal.live import watched
from ohm_subagents._terminal.on_demand import OhmOnDemand
from ohm_subagents.cli.reading import event_fields
from ohm_subagents.commands import (
    SUCCESS,
    TASK_FAILED,
    Board,
    complain,
    directory,
    is_terminal,
    print_json_lines,
    print_styled,
    terminal_theme,
    until_signal,
    width,
)
from ohm_subagents.contract import Ok, Recorded
from ohm_subagents.store import TaskQuery, apply, followed_events, unstarted, watched_tasks
from ohm_subagents.views import PLAIN, Transcript

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskGroup

    from ohm_subagents import Ohm
    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import Task, TaskId
    from ohm_subagents.store import Store


async def follow(view: str, cwd: Path, file: Path | None, task: Task, store: Store, _config: OhmConfig) -> int:
    """Show a task until it has settled: drawn on a terminal, else as its transcript; or its events. Return a code.

    `cwd` is the directory that was typed, and `file` the ohm.json of `--config`: keys steer
    with these.
    """
    drawn_live = partial(_drawn, cwd, file)
    show = _printed_events if view == "--events" else drawn_live if is_terminal() and not view else _transcribed
    ended = await until_signal(partial(show, task, store))
    if isinstance(ended, signal.Signals):
        if show is drawn_live and not task.is_terminal:
            complain(f"Task '{task.id}' goes on.")
        return 128 + ended
    return SUCCESS if ended.status == "succeeded" else TASK_FAILED


async def _printed_events(task: Task, store: Store) -> Task:
    state = unstarted(task)
    async with aclosing(followed_events(store, task.id)) as events:
        async for each in events:
            state = apply(state, each.event, at_ms=each.at_ms)
            print_json_lines([event_fields(Recorded(at_ms=each.at_ms, event=each.event))])
    return state


async def _transcribed(task: Task, store: Store) -> Task:
    theme, columns = (terminal_theme(), width()) if is_terminal() else (PLAIN, sys.maxsize)
    state, transcript = unstarted(task), Transcript(task, theme=theme, width=columns)
    for line in transcript.head():
        print_styled(line)
    async with aclosing(followed_events(store, task.id)) as events:
        async for each in events:
            state = apply(state, each.event, at_ms=each.at_ms)
            recorded = Recorded(at_ms=each.at_ms, event=each.event)
            for line in (*transcript.add(recorded), *transcript.begun(recorded)):
                print_styled(line)
    for line in transcript.end():
        print_styled(line)
    return state


def steered(cwd: Path, file: Path | None) -> OhmOnDemand:
    """Return the `Ohm` that keys steer with, as `ohm cancel` does; nothing is opened before the first one."""

    async def opens() -> Ohm:
        from ohm_subagents import Ohm

        return await Ohm.aopen(cwd=directory(cwd), config=file)

    return OhmOnDemand(opens)


async def _drawn(cwd: Path, file: Path | None, task: Task, store: Store) -> Task:
    board = Board(terminal_theme(), config=file)
    board.is_left = True
    board.show(task)
    try:
        async with nullcontext() if task.is_terminal else watched(steered(cwd, file), board):
            return await replayed(task, store, board)
    finally:  # whoever leaves it keeps what was drawn
        newest = ((one, store.get(one.task.id)) for one in board.tasks)
        shown = [one._replace(task=now.ok_value) if isinstance(now, Ok) else one for one, now in newest]
        print_batch(shown, board.theme, after=tell_failure)


async def replayed(task: Task, store: Store, board: Board) -> Task:
    """Show a task that a board has, and those below it, until it has settled; return it as it is then."""
    state = task
    async with anyio.create_task_group() as group:
        below = Below(store, board, group)
        below.look_below(task.id)
        group.start_soon(below.watch)
        state = await _replayed(task, store, board)
        group.cancel_scope.cancel()
    return state


async def drawn_with_those_below(task: Task, store: Store, board: Board) -> None:
    """Show a task that a board has, and those below it, also once it has settled; never return."""
    async with anyio.create_task_group() as group:
        below = Below(store, board, group)
        below.look_below(task.id)
        group.start_soon(_replayed, task, store, board)
        group.start_soon(below.watch)


async def _replayed(task: Task, store: Store, board: Board) -> Task:
    """Tell a board of the events of one task, from the first one on."""
    state = unstarted(task)
    async with aclosing(followed_events(store, task.id)) as events:
        async for each in events:
            state = apply(state, each.event, at_ms=each.at_ms)
            board.notify(state, each.event)
    return state


class Below:
    """Shows the tasks below those of a board, which another process runs, as they come: each as its own events tell."""

    def __init__(self, store: Store, board: Board, group: TaskGroup) -> None:
        self._store = store
        self._board = board
        self._group = group

    async def watch(self) -> None:
        """Look for new ones again and again, until this is cancelled."""
        async for _ in watched_tasks(self._store):
            for parent in [one.task.id for one in self._board.tasks if not one.task.is_terminal]:
                self.look_below(parent)

    def look_below(self, parent: TaskId) -> None:
        """Show those below one that the board has not yet, and follow them."""
        known = {one.task.id for one in self._board.tasks}
        listed = [one.ok_value for one in self._store.list(TaskQuery(parent=parent)) if isinstance(one, Ok)]
        for found in [self._store.get(one.id) for one in reversed(listed) if one.id not in known]:
            if isinstance(found, Ok):
                self._board.show(found.ok_value)
                self._group.start_soon(_replayed, found.ok_value, self._store, self._board)
                self.look_below(found.ok_value.id)
