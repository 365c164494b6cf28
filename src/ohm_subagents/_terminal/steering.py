"""Follow-ups, cancels and answers from keys: as those of the command line, whichever process runs the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._app.handle import Handle
from ohm_subagents._orchestrator.asking import asked_by
from ohm_subagents._terminal.on_demand import OhmOnDemand
from ohm_subagents._views.cells import one_line
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from ohm_subagents import Ohm
    from ohm_subagents.contract import Request, Task, TaskId
    from ohm_subagents.contract.requests import Answer

_GOES_ON: Final = "Its process has ended, so it goes on here, and ends when you leave."
_GONE: Final = "Nothing was sent: the task is not kept any more."


class Steering:
    """Steers tasks through an `Ohm`, which is opened for that where it is not open yet."""

    def __init__(self, ohm: Ohm | OhmOnDemand) -> None:
        self._ohm = ohm
        self.unanswered: list[str] = []
        """The follow-ups that were typed, and that nothing has come of yet."""

    @property
    def ending_here(self) -> int:
        """The number of tasks that have come to this process by a key, and end with it."""
        ohm = self._ohm.ohm if isinstance(self._ohm, OhmOnDemand) else None
        return 0 if ohm is None else sum(not one.is_terminal for one in ohm.store.recent())

    def task(self, task_id: TaskId) -> Task | None:
        """Return a task of the `Ohm`; None if it knows none, or is not open."""
        ohm = self._ohm.ohm if isinstance(self._ohm, OhmOnDemand) else self._ohm
        return None if ohm is None else ohm.task(task_id)

    async def opened(self) -> Ohm | str:
        """Return the `Ohm`, or the sentence that says why there is none."""
        return await self._ohm.opened() if isinstance(self._ohm, OhmOnDemand) else self._ohm

    async def send(self, task_id: TaskId, words: str) -> str:
        """Send a follow-up; return why it cannot be, once that is known."""
        self.unanswered.append(words)
        ohm = await self.opened()
        if isinstance(ohm, str):
            return ohm
        handle = ohm.handle(task_id)
        if not isinstance(handle, Handle):
            return _GONE
        answer = await handle.send(words)
        if isinstance(answer, Err):
            return str(answer.err_value)
        self.unanswered.remove(words)
        return ""

    async def cancel(self, task_id: TaskId) -> str:
        """Cancel a task; return why it cannot be."""
        ohm = await self.opened()
        if isinstance(ohm, str):
            return ohm
        handle = ohm.handle(task_id)
        with asked_by("terminal"):
            if isinstance(handle, Handle) and await handle.cancel():
                return ""
            done = await ohm.call("task", {"op": "cancel", "id": task_id})  # another process runs it
        return one_line(f"{done.details.get('error') or done.text}") if done.is_error else ""

    async def answer(self, request: Request, given: Answer) -> str:
        """Give the answer to a request; return why it cannot be, or that its task goes on here."""
        ohm = await self.opened()
        if isinstance(ohm, str):
            return ohm
        answered = await ohm.answer(request.id, given, by="terminal")
        if isinstance(answered, Err):
            return str(answered.err_value)
        goes_on = any(one.id == request.task_id and not one.is_terminal for one in ohm.store.recent())
        return _GOES_ON if goes_on else ""
