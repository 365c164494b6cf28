"""A settled task, as a command leaves it on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._app.sources import system_clock
from ohm_subagents._terminal.terminal import print_prose, print_styled, width
from ohm_subagents._views.live_tree import LiveTask, task_block
from ohm_subagents._views.theme import PLAIN

if TYPE_CHECKING:
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract import Task


def finished_lines(task: Task, *, width: int, theme: Theme = PLAIN) -> list[str]:
    """Return the lines of a task: prompt, tool calls, how it ended; without the answer."""
    return task_block(LiveTask(task), now_ms=system_clock(), width=width, theme=theme)


def print_finished(task: Task, theme: Theme) -> None:
    """Print a task in colours, then its answer; one that has none is followed by what it said."""
    print_styled("\n".join(finished_lines(task, width=width(), theme=theme)) + "\n")
    if said := task.output or task.text.strip():
        print_prose(said)
