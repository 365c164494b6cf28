"""A batch of twelve on a terminal: as it is drawn live, as it stays at the end, and as `ohm tasks` lists it.

`PYTHONPATH=tests/support:tests/views python tests/views/test_batch_screens.py` draws `batch_screens.txt` again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from batch_scene import NOW_MS, batch_tasks, over, played
from made_tasks import with_fields

from ohm_subagents._terminal.finished import finished_lines
from ohm_subagents.contract import ListedTask, RunStarted, Succeeded
from ohm_subagents.views import PLAIN, LiveTask, doing_text, screen_lines, state_text, task_list_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents.contract import Task

SCREENS = Path(__file__).with_name("batch_screens.txt")
WIDTHS = (60, 80, 120)


def drawn() -> str:
    parts: list[str] = []
    tasks = [LiveTask(task, is_answered_here=True) for task in batch_tasks()]
    for width in WIDTHS:
        for height in (17, 24, 30, 50):
            parts += [f"== live, {width} x {height}"]
            parts += screen_lines(tasks, now_ms=NOW_MS, width=width, height=height, theme=PLAIN)
    for width in WIDTHS:
        parts += [f"== ended, {width}", *finished_lines(parent(), width=width, below=ended(tasks))]
        parts += [f"== listed, {width}", *(line for live in tasks for line in listed(live, width))]
    return "\n".join(parts) + "\n"


def parent() -> Task:
    """The task that has started all of them."""
    done = played(1, RunStarted(prompt="Read it."), *over(Succeeded(), "All are read."))
    return with_fields(done, description="Read all of it", prompt="Read it.")


def ended(tasks: Sequence[LiveTask]) -> list[LiveTask]:
    return [one._replace(depth=1) for one in tasks if one.task.is_terminal]


def listed(live: LiveTask, width: int) -> tuple[str, ...]:
    """The lines of a task in a list on a terminal, with the facts that `ohm tasks` finds."""
    task, concern = live.task, live.concern(now_ms=NOW_MS)
    return task_list_lines(
        ListedTask.of(task),
        now_ms=NOW_MS,
        short_id=f"134_00{task.id[5:]:0>2}",
        state=state_text(task, concern, now_ms=NOW_MS),
        concern=concern,
        where="" if task.is_terminal else "pid 4711",
        why="" if task.status == "queued" else doing_text(task, now_ms=NOW_MS),
        asking=task if concern == "asking" else None,
        width=width,
    )


def test_a_batch_of_twelve_is_drawn_as_it_was_looked_at() -> None:
    assert drawn() == SCREENS.read_text(encoding="utf-8")


if __name__ == "__main__":
    SCREENS.write_text(drawn(), encoding="utf-8")
