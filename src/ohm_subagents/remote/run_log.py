"""The reports of one run: numbered, in order, and kept until they are acknowledged."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.wire import EventReported, ResultReported
from ohm_subagents.plugin import TextDelta, ThinkingDelta

if TYPE_CHECKING:
    from ohm_subagents.contract.wire import RunReport
    from ohm_subagents.plugin import RunEvent

MAX_UNSENT: Final = 10_000
"""Reports of a run that wait to be sent; beyond it, pieces of text are joined. Nothing is dropped."""


class Entry:
    """A report in the log; of a joined one, `pieces` are the texts of its events."""

    __slots__ = ("_pieces", "_report", "is_sent")

    def __init__(self, report: RunReport) -> None:
        self._report = report
        self._pieces: list[str] = []
        self.is_sent = False

    @property
    def n(self) -> int:
        """The number of the report in its run."""
        return self._report.n

    @property
    def is_history(self) -> bool:
        """True for what another submitter has to hear too; the rest is about the one that was asked."""
        return isinstance(self._report, EventReported | ResultReported)

    def join(self, event: TextDelta | ThinkingDelta) -> bool:
        """Add a piece of text to the report if that is one of the same kind and was not sent; True if it was."""
        mine = self._report.event if isinstance(self._report, EventReported) else None
        if self.is_sent or type(mine) is not type(event) or not isinstance(mine, TextDelta | ThinkingDelta):
            return False
        self._pieces = self._pieces or [mine.text]
        self._pieces.append(event.text)
        return True

    def report(self) -> RunReport:
        """Return the report, which is sent with that."""
        self.is_sent = True
        match self._report:
            case EventReported(event=TextDelta()) as told if self._pieces:
                self._report = EventReported(run_key=told.run_key, n=told.n, event=TextDelta(text=self._joined()))
            case EventReported(event=ThinkingDelta()) as told if self._pieces:
                self._report = EventReported(run_key=told.run_key, n=told.n, event=ThinkingDelta(text=self._joined()))
            case _:
                pass
        return self._report

    def _joined(self) -> str:
        pieces, self._pieces = self._pieces, []
        return "".join(pieces)


class RunLog:
    """The reports of one run that its submitter may need again."""

    def __init__(self, *, max_unsent: int = MAX_UNSENT) -> None:
        self._entries: deque[Entry] = deque()
        self._max_unsent = max_unsent
        self._last = 0

    @property
    def next_n(self) -> int:
        """The number of the next report."""
        return self._last + 1

    @property
    def is_acknowledged(self) -> bool:
        """True if no report is needed any more."""
        return not self._entries

    def joins(self, event: RunEvent) -> bool:
        """Add an event to the last report if too much waits and it is a piece of the same text; True if it was."""
        if len(self._entries) < self._max_unsent or not isinstance(event, TextDelta | ThinkingDelta):
            return False
        return self._entries[-1].join(event)

    def add(self, report: RunReport) -> Entry:
        """Add the next report."""
        self._last = report.n
        entry = Entry(report)
        self._entries.append(entry)
        return entry

    def acknowledge(self, n: int) -> None:
        """Forget the reports up to this number."""
        while self._entries and self._entries[0].n <= n:
            self._entries.popleft()

    def since(self, n: int) -> list[Entry]:
        """Return the reports after this number that are kept."""
        return [entry for entry in self._entries if entry.n > n]
