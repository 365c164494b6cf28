"""The live widget: the tasks at work as short trees, the newest activity visible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._views.entries import live_entry
from ohm_subagents._views.tree import TreeLimits, tree_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract.task import Task

WIDTH: Final = 100
MAX_TASKS: Final = 5
VERBOSE: Final = TreeLimits(prompt_lines=6, rows=8, result_lines=4)
COMPACT: Final = TreeLimits(prompt_lines=1, rows=2, result_lines=1)


def widget_lines(
    tasks: Iterable[Task], *, now_ms: int, compact: bool, max_tasks: int = MAX_TASKS, width: int = WIDTH
) -> list[str]:
    """The active tasks, running ones first and the newest update first among them; none when all have settled.

    What the subagent says is shown from its end. `now_ms` is the clock that stamped the tasks: it turns the spinner.
    """
    limits = COMPACT if compact else VERBOSE
    active = sorted(
        (task for task in tasks if not task.is_terminal), key=lambda task: (task.status == "queued", -task.updated_ms)
    )
    entries = [live_entry(task, now_ms=now_ms, limits=limits, width=width) for task in active[:max_tasks]]
    return tree_lines(entries, limits=limits, width=width)
