"""One sub-agent at work: what it says and does, folded into its window as it happens."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract import RouteResolved
from ohm_subagents.suite import (
    UNAVAILABLE,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    UsageAdded,
    encodable,
    truncate,
)
from ohm_subagents.suites.delegate.details import Line
from ohm_subagents.suites.delegate.tool_previews import tool_call_preview, tool_result_summary
from ohm_subagents.views import TODO_TOOLS, MessageLog, arguments_in, todos_in

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.suite import Event
    from ohm_subagents.suites.delegate.details import Window
    from ohm_subagents.views import Message

MAX_LINES: Final = 500
MAX_LINE_CHARS: Final = 2000


class LiveWindow:
    """The window of a sub-agent: `add` takes events in, `change` whatever else becomes known of it.

    `prompt` is as it was given. Lines are shown from their beginning; one that is longer than `MAX_LINE_CHARS` is cut.
    """

    def __init__(
        self, window: Window, *, prompt: str, max_lines: int, preview_width: int, cwd: Path, home: Path | None = None
    ) -> None:
        self._window = window
        self._log = MessageLog(prompt)
        self._max_lines = max_lines
        self._preview_width = preview_width
        self._cwd = str(cwd)
        self._home = None if home is None else str(home)
        self._lines: deque[Line] = deque(maxlen=MAX_LINES)
        self._pieces: list[str] = []
        self._length = 0
        self._is_stale = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return what was said and done, as a session keeps it."""
        return self._log.messages

    def change(self, **fields: object) -> None:
        """Set fields of the window, by their Python names."""
        self._window = self._window.model_copy(update=fields)

    def window(self) -> Window:
        """Return the window as it is now. Cheap: what has not changed is not made again."""
        if self._is_stale:
            self._is_stale = False
            kept = (*self._lines, *self._pending())[-MAX_LINES:]
            newest = kept[-self._max_lines :] if self._max_lines > 0 else ()
            self.change(all_messages=kept, lines=newest)
        return self._window

    def add(self, event: Event) -> None:
        """Take in what the sub-agent did."""
        match event:
            case TextDelta(text=text):
                self._say(text)
            case ThinkingDelta() | UsageAdded():
                self._end_line()
            case ToolStarted():
                self._call(event)
            case ToolEnded():
                self._return(event)
            case RouteResolved(provider=provider, model=model):
                known = {"provider": provider, "model": model}
                self.change(**{name: value for name, value in known.items() if value not in {"", UNAVAILABLE}})
            case RunEnded(output=output):
                self._end_line()
                if self._log.is_news(output):
                    self._say(output)
                    self._end_line()
            case _:  # the other events are not seen in a window, and a new one is not either unless it is added above
                pass
        self._log.add(event)

    def _say(self, text: str) -> None:
        first, *others = text.split("\n")
        self._write(first)
        for line in others:
            self._end_line()
            self._write(line)
        self._is_stale = True

    def _write(self, text: str) -> None:
        if self._length <= MAX_LINE_CHARS:  # more than that is not shown
            self._pieces.append(text)
            self._length += len(text)

    def _end_line(self) -> None:
        if self._pieces:
            self._lines.extend(self._pending())
            self._pieces, self._length = [], 0
            self._is_stale = True

    def _pending(self) -> tuple[Line, ...]:
        """Return the line that is being written, if it says anything yet."""
        self._pieces = ["".join(self._pieces)]
        text = encodable(self._pieces[0].rstrip())
        if not text:
            return ()
        cut = truncate(text, MAX_LINE_CHARS)
        return (Line(text=f"{cut.text}…" if cut.is_truncated else text),)

    def _call(self, event: ToolStarted) -> None:
        self._end_line()
        arguments = arguments_in(event.args)
        preview = tool_call_preview(event.tool, arguments, width=self._preview_width, cwd=self._cwd, home=self._home)
        self._show_tool(preview)

    def _return(self, event: ToolEnded) -> None:
        if event.status != "success":
            return
        if (summary := tool_result_summary(event.tool, event.text)) is not None:
            self._end_line()
            self._show_tool(summary)
        if event.tool in TODO_TOOLS and (todos := todos_in(event.text)) is not None:
            self.change(todo_total=todos.total, todo_completed=todos.completed)

    def _show_tool(self, text: str) -> None:
        self._lines.append(Line(text=encodable(text), kind="tool"))
        self._is_stale = True
