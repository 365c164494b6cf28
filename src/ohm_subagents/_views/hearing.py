"""Follow-ups that a run has taken in the middle of a call: its model reads them once that has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents._views.cells import one_line
from ohm_subagents.contract.events import FollowUpTaken, RunEnded, TaskSettled, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract.events import Event, Recorded


class Unheard(NamedTuple):
    """A follow-up that the model of the open run has not read yet."""

    prompt: str
    """The text of the follow-up."""
    call_id: str
    """The id of the call that it waits for."""
    tool: str
    """The tool of that call."""

    @property
    def words(self) -> str:
        """The time at which it is heard, in words."""
        return f"heard once {one_line(self.tool)} has ended"


class Hearing:
    """The follow-ups of a task that are not heard yet, event by event.

    Fields:
        waiting: they, oldest first.
    """

    def __init__(self) -> None:
        self.waiting: list[Unheard] = []
        self._open: dict[str, str] = {}

    def see(self, event: Event) -> list[Unheard]:
        """Take in what happened; return those that are heard now. A call that was cut off lets none be heard."""
        match event:
            case ToolStarted():
                self._open[event.call_id] = event.tool
            case ToolEnded():
                self._open.pop(event.call_id, None)
                heard = [one for one in self.waiting if one.call_id == event.call_id and event.status != "interrupted"]
                self.waiting = [one for one in self.waiting if one not in heard]
                return heard
            case FollowUpTaken() if self._open:
                self.waiting.append(Unheard(event.prompt, *[*self._open.items()][-1]))
            case RunEnded() | TaskSettled():
                self.waiting.clear()
                self._open.clear()
            case _:
                pass
        return []


def unheard(history: Iterable[Recorded]) -> list[Unheard]:
    """Return the follow-ups that are not heard yet, by the events of a task."""
    hearing = Hearing()
    for recorded in history:
        hearing.see(recorded.event)
    return hearing.waiting
