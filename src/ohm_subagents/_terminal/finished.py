"""Settled tasks, as a command leaves them on the terminal."""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from ohm_subagents._app.sources import system_clock
from ohm_subagents._terminal.command import complain, with_config
from ohm_subagents._terminal.lookup import short_id
from ohm_subagents._terminal.terminal import height, is_terminal, print_prose, print_styled, print_text, width
from ohm_subagents._views.answer import said_last
from ohm_subagents._views.brief_rows import brief_blocks
from ohm_subagents._views.cells import fit, one_line
from ohm_subagents._views.live_task import LiveTask, with_patience
from ohm_subagents._views.live_tree import task_block
from ohm_subagents._views.screen import left_of, sum_line
from ohm_subagents._views.task_texts import shown_error
from ohm_subagents._views.theme import PLAIN
from ohm_subagents._views.titles import title_line

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from pathlib import Path

    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._views.call_waits import CallWait
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract import Task, TaskId

_MOST_SAID: Final = 3
"""Lines of what one of several tasks answered, or why it failed."""
_BELOW_LIST: Final = 3
"""Lines of sums, of a word about how it ended, and of the next command."""
_RETRY: Final = 4
"""Lines that tell how to try again."""
_WORD: Final = re.compile(r"\w+")
_NAMED: Final = 4
"""Tasks that a sentence names."""
_TITLE: Final = 40
"""Cells of a title in a sentence."""


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
    tasks: Sequence[LiveTask],
    theme: Theme,
    *,
    after: Callable[[Task], None],
    asked: Container[TaskId] = (),
    is_told_once: bool = False,
) -> None:
    """Print tasks as the live screen has them: the tree of each, then each answer by its title, and what they came to.

    `tasks` are in the order of `Board.tasks`: each above those that its subagent has started, whose answers are not
    printed but for those that were `asked` for. `after` prints what belongs below an answer. In a pipe no line is cut.
    Where a terminal has no room for the trees of several, the answers come first, and last a list that it has room for,
    with the beginning of what each answered or why it failed; with `is_told_once` an answer that is whole there is told
    there alone, without `after`. What one task and those below it came to is above their tree. One task is printed as
    `print_finished` does.
    """
    tasks = with_patience(tasks, now_ms=system_clock())
    tops = [at for at, one in enumerate(tasks) if not one.depth]
    blocks = [tasks[start:end] for start, end in zip(tops, [*tops[1:], len(tasks)], strict=True)]
    now_ms, columns = system_clock(), width() if is_terminal() else sys.maxsize
    sums = [_sum(tasks, columns, theme)] if len(tasks) > 1 else []
    trees = [line for top, *below in blocks for line in _block(top, below, columns, theme)]
    is_long = is_terminal() and len(tops) > 1 and len(trees) >= height()
    is_mixed = len({one.task.assignment.profile for one in tasks}) > 1
    rows = partial(_rows, tasks, tasks, columns, with_kind=is_mixed, free=_free(tasks)) if is_long else None
    if rows is None:
        print_styled("\n".join([*(sums if len(tops) == 1 else []), *trees]))
    told = [one._replace(depth=0) for one in tasks if not one.depth or one.task.id in asked]
    for one in told if rows is None or not is_told_once else _untold(told, rows(PLAIN)):
        if one.task.is_terminal:  # the tree of another one has what it said
            print_styled("\n" + title_line(one, now_ms=now_ms, width=columns, theme=theme) if len(told) > 1 else "")
            _print_answer(one.task)
        after(one.task)
    if len(tops) > 1:
        print_styled("\n".join(["", *([] if rows is None else rows(theme)), *sums]))


def print_retry(tasks: Sequence[Task], store: Store, config: Path | None) -> None:
    """Tell once how to try those again that have failed, and may succeed then; nothing where no task is kept.

    `config` is the ohm.json that was typed: the command needs it too.
    """
    failed = [task for task in tasks if task.error is not None and task.error.retryable]
    if not failed or store.place is None:
        return
    again = with_config(f'ohm run --resume {short_id(failed[0].id, store)} "Try again."', config)
    named = [f"{short_id(task.id, store)} ({fit(one_line(task.assignment.description), _TITLE)})" for task in failed]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    rest = f"\nThe same goes for {', '.join(named[1:_NAMED])}{more}." if named[1:] else ""
    complain(f"What failed may succeed when it is tried again, as {named[0]} by:\n  {again}{rest}")


def tell_failure(task: Task) -> None:
    """Tell on standard error why a task has failed, and what to do about that, if it has."""
    if task.error is not None:
        complain(f"\n{shown_error(task.error)}")


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
    with_left = not (below and left_of([top, *below], now_ms=system_clock()))  # else the line above tells it
    # why it has failed is told last, below its answer
    lines = task_block(top, now_ms=system_clock(), width=width, theme=theme, with_left=with_left, with_why=False)
    return [*lines, *_rows(below, [top, *below], width, theme)]


def _free(tasks: Sequence[LiveTask]) -> int:
    """Return the lines that a list of tasks leaves on the screen, with its sums and what may come below them."""
    is_tried_again = any(one.task.error is not None and one.task.error.retryable for one in tasks)
    return max(0, height() - len(tasks) - _BELOW_LIST - (_RETRY if is_tried_again else 0))


def _untold(tasks: Sequence[LiveTask], rows: Sequence[str]) -> list[LiveTask]:
    """Return the tasks that have failed, or of whose answers these rows do not have all words."""
    shown = _words(" ".join(rows))
    told = ((one, one.task.error is None and _words(one.task.output or one.task.text) in shown) for one in tasks)
    return [one for one, is_whole in told if not is_whole]


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))


def _rows(
    tasks: Sequence[LiveTask],
    among: Sequence[LiveTask],
    width: int,
    theme: Theme,
    *,
    with_kind: bool = True,
    free: int = sys.maxsize,
) -> list[str]:
    """Return the rows of tasks, with what each answered; what is left is told above, if all `among` these share it."""
    now_ms = system_clock()
    write = partial(brief_blocks, tasks, free=free, most=_MOST_SAID, now_ms=now_ms, width=width, theme=theme)
    rows = write(with_kind=with_kind, with_left=not left_of(among, now_ms=now_ms))
    return [line for row in rows for line in row]
