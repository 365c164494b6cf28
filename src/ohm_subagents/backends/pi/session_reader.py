"""A reader that also tells the state of the conversation, from the session file that pi keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.plugin import Checkpointed, OhmError, Result, RunEvent, RunOutput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ohm_subagents.backends.pi.reader import PiReader
    from ohm_subagents.backends.pi.session import SessionFile
    from ohm_subagents.shell import Ended


class SessionReader:
    """A `PiReader` that also reports the conversation: after each turn that made it grow, on demand, and at the end.

    `state` is the newest one.
    """

    def __init__(self, reader: PiReader, session: SessionFile) -> None:
        self._reader = reader
        self._session = session
        self.state: str | None = None

    async def look(self, line: bytes) -> None:
        """To be awaited before each line is read."""
        await self._reader.handed_in.look(line)

    def read(self, line: bytes) -> Iterator[RunEvent]:
        """See `Reader`."""
        turns = self._reader.turns
        yield from self._reader.read(line)
        if self._reader.turns > turns:
            yield from self._noted(self._session.grown())

    def state_now(self) -> Iterable[RunEvent]:
        """Return the conversation as it stands within a turn, unless it was reported."""
        return self._noted(self._session.flush())

    @property
    def is_over(self) -> bool:
        """See `Reader`."""
        return self._reader.is_over

    @property
    def is_streaming(self) -> bool:
        """See `PiReader`."""
        return self._reader.is_streaming

    def last(self, ended: Ended) -> Iterable[RunEvent]:
        """See `Reader`."""
        return (*self._reader.last(ended), *self._noted(self._session.flush()))

    def outcome(self, ended: Ended) -> Result[RunOutput, OhmError]:
        """See `Reader`."""
        return self._reader.outcome(ended)

    def _noted(self, told: Iterable[RunEvent]) -> Iterator[RunEvent]:
        for event in told:
            if isinstance(event, Checkpointed):
                self.state = event.state
            yield event
