"""Tasks that are drawn, of which keys choose one."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    import anyio

    from ohm_subagents._terminal.hint import Note
    from ohm_subagents.contract import ListedTask, Request, Task, TaskId


class Leave(Enum):
    """The answer of a view to a key that leaves more than the view."""

    PROGRAM = "program"


class Shown(Protocol):
    """The tasks of one command, or of all processes, as they are drawn."""

    has_keys: bool
    """Tell at the bottom of a frame which keys there are."""

    @property
    def note(self) -> Note:
        """The note in place of that."""
        ...

    @property
    def news(self) -> anyio.Event:
        """Set, and replaced by a new one, when a task begins or ends to ask, or settles, or a key is about answers."""
        ...

    @property
    def asks_at_once(self) -> bool:
        """True if every task that has not settled waits for an answer, so that it is asked at once."""
        ...

    @property
    def chosen_task(self) -> Task | None:
        """The task that was chosen, or the only one."""
        ...

    @property
    def follow_up_task(self) -> Task | None:
        """The task that a follow-up is for."""
        ...

    @property
    def next_request(self) -> Request | None:
        """The request of the chosen task; where that asks nothing, of the first that does."""
        ...

    def task(self, task_id: TaskId) -> Task | None:
        """Return a shown task as it is now; None if it is not known."""
        ...

    def going_below(self, task_id: TaskId) -> int:
        """Return how many tasks below one have not settled."""
        ...

    def sum_line(self, width: int) -> str:
        """Return what the tasks came to so far, without colours; empty for one."""
        ...

    def tell_news(self) -> None:
        """Wake those who wait for news."""
        ...

    def frame(self, width: int, height: int) -> str:
        """Draw what happens now in at most `height` lines."""
        ...

    def press(self, key: str) -> Shown | Leave | None:
        """Obey a key that chooses, opens or closes, and return what is drawn then; None for a key that is none.

        A key that leaves the program is left to the caller: some task may end with it.
        """
        ...


def count_going_below(task_id: TaskId, tasks: Iterable[ListedTask]) -> int:
    """Count the tasks below one that have not settled; each of `tasks` stands above those that it has started."""
    below: set[TaskId | None] = {task_id}
    going = 0
    for task in tasks:
        if task.parent in below:
            below.add(task.id)
            going += not task.is_terminal
    return going


class Front:
    """The view that is drawn now, after a key has opened or closed one."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown

    def frame(self, width: int, height: int) -> str:
        """Draw it."""
        return self.shown.frame(width, height)

    def show(self, shown: Shown) -> None:
        """Draw another one from now on, which has keys too."""
        before, self.shown = self.shown, shown
        shown.has_keys = before.has_keys
        if before is not shown:
            before.tell_news()  # whoever waits for news of it is to wait for those of the other one
