"""`ohm task <id> --follow`: what a task of any process does, as its store has it, until it has settled."""

from __future__ import annotations

import signal
from contextlib import aclosing, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents.cli.reading import event_fields
from ohm_subagents.commands import (
    SUCCESS,
    TASK_FAILED,
    Board,
    drawn,
    is_terminal,
    print_finished,
    print_json_lines,
    print_styled,
    terminal_theme,
    until_signal,
)
from ohm_subagents.contract import Recorded
from ohm_subagents.store import apply, followed_events, unstarted
from ohm_subagents.views import PLAIN, Transcript

if TYPE_CHECKING:
    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import Task
    from ohm_subagents.store import Store


async def follow(view: str, task: Task, store: Store, _config: OhmConfig) -> int:
    """Show a task until it has settled: drawn on a terminal, else as its transcript; or its events. Return a code."""
    show = _printed_events if view == "--events" else _drawn if is_terminal() and not view else _transcribed
    ended = await until_signal(partial(show, task, store))
    if isinstance(ended, signal.Signals):
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
    theme = terminal_theme() if is_terminal() else PLAIN
    state, transcript = unstarted(task), Transcript(task, theme=theme)
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


async def _drawn(task: Task, store: Store) -> Task:
    board = Board(terminal_theme())
    with nullcontext() if task.is_terminal else drawn(board.frame):
        state = await replayed(task, store, board)
    print_finished(state, board.theme)
    return state


async def replayed(task: Task, store: Store, board: Board) -> Task:
    """Show a task on a board, from its first event until it has settled; return it as it is then."""
    state = unstarted(task)
    async with aclosing(followed_events(store, task.id)) as events:
        async for each in events:
            state = apply(state, each.event, at_ms=each.at_ms)
            board.notify(state, each.event)
    return state
