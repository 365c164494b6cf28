"""The last lines of what is drawn: a note about the last key, or the keys that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import one_line, wrap
from ohm_subagents._views.spans import painted, stacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract import Task, TaskId
    from ohm_subagents.contract.activity import OpenCall

_MARGIN: Final = "  "


class Note:
    """A sentence in place of the keys, say about the last one."""

    def __init__(self) -> None:
        self.text = ""
        self.heard_after: tuple[TaskId, OpenCall] | None = None
        """The call after whose end a task hears what was sent to it; the note says so until then."""

    def say(self, text: str, *, heard_after: tuple[TaskId, OpenCall] | None = None) -> None:
        """Take a sentence in place of the last one; an empty one for the keys."""
        self.text, self.heard_after = text, heard_after

    def told(self, tasks: Iterable[Task]) -> str:
        """Return the sentence, with the call that has to end first as long as one of these tasks is in it."""
        if self.heard_after is None:
            return self.text
        task_id, call = self.heard_after
        is_open = any(one.id == task_id and call in one.activity.open_calls for one in tasks)
        return f"{self.text} · heard once {one_line(call.tool)} has ended" if is_open else self.text


def hint_lines(keys: Sequence[Span], note: str, width: int, theme: Theme) -> list[str]:
    """Draw the note, else the keys, in as many lines as they need: no word is cut."""
    room = max(1, width - len(_MARGIN))
    lines: list[list[Span]] = [[("warning", line)] for line in wrap(one_line(note), room)] if note else []
    return [painted([("", _MARGIN), *line], width, theme) for line in lines or stacked(keys, room)]
