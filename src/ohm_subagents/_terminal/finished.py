"""A settled task, as a command leaves it on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._app.sources import system_clock
from ohm_subagents._terminal.terminal import print_prose, print_styled, width
from ohm_subagents._views.live_tree import LiveTask, brief_line, task_block
from ohm_subagents._views.theme import PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract import Task


def finished_lines(task: Task, *, width: int, theme: Theme = PLAIN, below: Sequence[LiveTask] = ()) -> list[str]:
    """Return the lines of a task: prompt, tool calls, how it ended; without the answer. Of each task below it, one."""
    now_ms, is_patient = system_clock(), not all(one.task.is_terminal for one in below)
    lines = task_block(LiveTask(task, is_patient=is_patient), now_ms=now_ms, width=width, theme=theme)
    return [*lines, *(brief_line(one, now_ms=now_ms, width=width, theme=theme) for one in below)]


def print_finished(task: Task, theme: Theme) -> None:
    """Print a task in colours, then its answer; one that has none is followed by what it said."""
    print_styled("\n".join(finished_lines(task, width=width(), theme=theme)) + "\n")
    if said := task.output or task.text.strip():
        print_prose(said)
