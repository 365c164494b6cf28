"""The last lines of what is drawn: a note about the last key, or the keys that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._views.cells import one_line, wrap
from ohm_subagents._views.spans import painted, stacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract import Task, TaskId
    from ohm_subagents.contract.activity import OpenCall

_MARGIN: Final = "  "


class _FollowUp(NamedTuple):
    words: str
    to: TaskId
    taken_before: int
    """The follow-ups that the task had taken when this one was sent."""
    call: OpenCall | None
    """The call that was open then: it has to end before the task hears this."""

    def told(self, task: Task | None) -> str:
        """Return what has come of it, by the task as it is now: as long as nobody took it, it is on its way."""
        if task is None or _taken(task) <= self.taken_before:
            return f"Sending: {self.words}"
        later = "" if self.call not in task.activity.open_calls else f" · heard once {self.call.tool} has ended"
        return f"Sent: {self.words}{later}"


def _taken(task: Task) -> int:
    return sum(len(run.follow_ups) + run.is_follow_up for run in task.runs)


class Note:
    """A sentence in place of the keys, say about the last one."""

    def __init__(self) -> None:
        self.text = ""
        self._sent: _FollowUp | None = None

    def say(self, text: str) -> None:
        """Take a sentence in place of the last one; an empty one for the keys."""
        self.text, self._sent = text, None

    def send(self, words: str, task: Task) -> None:
        """Tell of a follow-up to a task: that it is on its way, then that it was sent, and when it is heard."""
        opened = task.activity.open_calls
        self._sent = _FollowUp(words, task.id, _taken(task), opened[-1] if opened else None)
        self.text = ""

    def answered(self, words: str) -> None:
        """Note that a follow-up has an answer, which may be a task of its own."""
        if self._sent is not None and self._sent.words == words:
            self.say(f"Sent: {words}")

    def told(self, tasks: Iterable[Task]) -> str:
        """Return the sentence, by these tasks as they are now."""
        sent = self._sent
        return self.text if sent is None else sent.told(next((one for one in tasks if one.id == sent.to), None))


def hint_lines(keys: Sequence[Span], note: str, width: int, theme: Theme) -> list[str]:
    """Draw the note, else the keys, in as many lines as they need: no word is cut."""
    room = max(1, width - len(_MARGIN))
    lines: list[list[Span]] = [[("warning", line)] for line in wrap(one_line(note), room)] if note else []
    return [painted([("", _MARGIN), *line], width, theme) for line in lines or stacked(keys, room)]
