"""A batch of twelve on a terminal: as it is drawn live.

`PYTHONPATH=tests/support:tests/views python tests/views/test_batch_screens.py` draws `batch_screens.txt` again.
"""

from __future__ import annotations

from pathlib import Path

from batch_scene import NOW_MS, batch_tasks

from ohm_subagents.views import PLAIN, LiveTask, screen_lines

SCREENS = Path(__file__).with_name("batch_screens.txt")
WIDTHS = (60, 80, 120)


def drawn() -> str:
    parts: list[str] = []
    tasks = [LiveTask(task, is_answered_here=True) for task in batch_tasks()]
    for width in WIDTHS:
        for height in (17, 24, 30, 50):
            parts += [f"== live, {width} x {height}"]
            parts += screen_lines(tasks, now_ms=NOW_MS, width=width, height=height, theme=PLAIN)
    return "\n".join(parts) + "\n"


def test_a_batch_of_twelve_is_drawn_as_it_was_looked_at() -> None:
    assert drawn() == SCREENS.read_text(encoding="utf-8")


if __name__ == "__main__":
    SCREENS.write_text(drawn(), encoding="utf-8")
