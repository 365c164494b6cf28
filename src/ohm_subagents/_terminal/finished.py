"""Settled tasks, as a command leaves them on the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from ohm_subagents._app.sources import system_clock
from ohm_subagents._terminal.terminal import is_terminal, print_prose, print_styled, print_text, width
from ohm_subagents._views.answer import said_last
from ohm_subagents._views.brief_rows import brief_blocks
from ohm_subagents._views.live_task import LiveTask, with_patience
from ohm_subagents._views.live_tree import WHOLE, task_block
from ohm_subagents._views.screen import left_of, sum_line
from ohm_subagents._views.theme import PLAIN
from ohm_subagents._views.titles import title_line

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from ohm_subagents._views.call_waits import CallWait
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract import Task, TaskId

_MOST_SAID: Final = 3
"""Lines of what one of several tasks answered, or why it failed."""


def finished_lines(
    task: Task,
    *,
    width: int,
    theme: Theme = PLAIN,
    below: Sequence[LiveTask] = (),
    waits: tuple[CallWait, ...] = (),
) -> list[str]:
    """Return the lines of a task: prompt, tool calls, how it ended; without the answer.

    With tasks below it, one line each, and where that is too narrow for what one answered, why it failed or what it
    waits for, up to three more; below a line of what all of them came to. `waits` are those of its calls for answers
    (`call_waits`).
    """
    top, *below = with_patience([LiveTask(task, waits=waits), *below], now_ms=system_clock())
    lines = _block(top, below, width, theme)
    return [_sum([top, *below], width, theme), *lines] if below else lines


def print_finished(task: Task, theme: Theme, *, waits: tuple[CallWait, ...] = ()) -> None:
    """Print a task in colours, then its answer; one that has none is followed by what it said.

    `waits` are those of its calls for answers (`call_waits`).
    """
    print_batch([LiveTask(task, waits=waits)], theme, after=lambda _task: None)


def print_batch(
    tasks: Sequence[LiveTask], theme: Theme, *, after: Callable[[Task], None], asked: Container[TaskId] = ()
) -> None:
    """Print tasks as the live screen has them: what they came to, the tree of each, and then each answer by its title.

    `tasks` are in the order of `Board.tasks`: each above those that its subagent has started, whose answers are not
    printed but for those that were `asked` for. `after` prints what belongs below an answer. In a pipe no line is cut.
    One task is printed as `print_finished` does.
    """
    tasks = with_patience(tasks, now_ms=system_clock())
    tops = [at for at, one in enumerate(tasks) if not one.depth]
    blocks = [tasks[start:end] for start, end in zip(tops, [*tops[1:], len(tasks)], strict=True)]
    now_ms, columns = system_clock(), width() if is_terminal() else sys.maxsize
    if len(tasks) > 1:
        print_styled(_sum(tasks, columns, theme))
    for top, *below in blocks:
        print_styled("\n".join(_block(top, below, columns, theme)))
    told = [one._replace(depth=0) for one in tasks if not one.depth or one.task.id in asked]
    for one in told:
        if one.task.is_terminal:  # the tree of another one has what it said
            print_styled("\n" + title_line(one, now_ms=now_ms, width=columns, theme=theme) if len(told) > 1 else "")
            _print_answer(one.task)
        after(one.task)


def _print_answer(task: Task) -> None:
    """Print the answer of a task; of one without an answer, what it said last."""
    if task.output:
        print_prose(task.output)
        return
    line, said = said_last(task, f"ohm task {task.id} --transcript")
    if said:
        print_text(line)
        print_prose(said)


def _sum(tasks: Sequence[LiveTask], width: int, theme: Theme) -> str:
    return sum_line(tasks, now_ms=system_clock(), width=width, theme=theme)


def _block(top: LiveTask, below: Sequence[LiveTask], width: int, theme: Theme) -> list[str]:
    now_ms = system_clock()
    with_left = not (below and left_of([top, *below], now_ms=now_ms))  # else the line above tells it
    lines = task_block(top, now_ms=now_ms, width=width, theme=theme, with_left=with_left)
    rows = brief_blocks(
        below, free=WHOLE, most=_MOST_SAID, now_ms=now_ms, width=width, theme=theme, with_left=with_left
    )
    return [*lines, *(line for row in rows for line in row)]
