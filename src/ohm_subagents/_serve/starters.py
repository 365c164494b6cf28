"""The program that has started a task: it alone is asked about the requests of the task while it is connected."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.ids import TaskId, secret_task_id

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.run.answerers import Answerer
    from ohm_subagents._serve.program import Program

starting: Final[ContextVar[Program | None]] = ContextVar("ohm_starting_program", default=None)
"""The program whose command the running code carries out."""


class Starters:
    """The programs that are connected, by the tasks that they have started and that have not settled.

    Fields:
        answerers: those who answer requests for a whole program.
    """

    def __init__(self) -> None:
        self._by_task: dict[TaskId, Program] = {}
        self.answerers: list[Answerer] = []

    def new_task_id(self) -> str:
        """Make the id of a task, and note whose task it is."""
        made = secret_task_id()
        program = starting.get()
        if program is not None and not program.is_gone:
            self._by_task[made] = program
        return made

    def of(self, task_id: TaskId) -> Program | None:
        """Return the program that has started a task; None if that is not connected any more."""
        return self._by_task.get(task_id)

    def settle(self, task_id: TaskId) -> None:
        """Forget a task that is over."""
        self._by_task.pop(task_id, None)

    def leave(self, program: Program) -> list[TaskId]:
        """Forget a program that is gone; return its tasks, which whoever answers for a whole program attends now."""
        left = [task_id for task_id, one in self._by_task.items() if one is program]
        for task_id in left:
            del self._by_task[task_id]
        return left
