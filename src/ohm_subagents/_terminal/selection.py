"""The choice of one task among those that are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents.contract import TaskId

ARROWS: Final = {"\x1b[A": -1, "\x1bOA": -1, "\x1b[B": 1, "\x1bOB": 1, "\t": 1}
"""The keys that choose the next task, or the one before."""
STEPS: Final = {**ARROWS, "k": -1, "j": 1}
"""The same, with letters, where none of these does something else."""


class Selection:
    """The chosen task, which stays chosen however the others are sorted, and come and go."""

    def __init__(self) -> None:
        self.chosen: TaskId | None = None
        """The task that keys are about; None for no choice."""
        self._place = 0

    def move(self, ids: Sequence[TaskId], step: int) -> None:
        """Choose the next of the shown tasks, or the one before; the first where none is chosen.

        From one that is not shown any more it goes on at the place where that was.
        """
        if not ids:
            self.chosen = None
            return
        if self.chosen in ids:
            self._place = (ids.index(self.chosen) + step) % len(ids)
        elif self.chosen is None:
            self._place = 0
        else:
            self._place = min(self._place, len(ids) - 1)
        self.chosen = ids[self._place]
