"""A batch of twelve on a terminal: as it is drawn live, and as `ohm tasks` lists it.

`PYTHONPATH=tests/support:tests/views python tests/views/test_batch_screens.py` draws `batch_screens.txt` again.
"""

from __future__ import annotations

from pathlib import Path

from batch_scene import NOW_MS, batch_tasks

from ohm_subagents.contract import ListedTask
from ohm_subagents.views import PLAIN, LiveTask, doing_text, screen_lines, state_text, task_list_lines

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
        parts += [f"== listed, {width}", *(line for live in tasks for line in listed(live, width))]
    return "\n".join(parts) + "\n"


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
