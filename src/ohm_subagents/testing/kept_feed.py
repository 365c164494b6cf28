"""A feed for tests of backends whose runs outlive their submitter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.contract.events import RunEvent


class KeptFeed:
    """The `RunRequest.feed` of a run without an engine; one that is cancelled is left to the next submitter."""

    is_left: Final = True
    """The run goes on when it is cancelled here."""

    def __init__(self, key: str = "left") -> None:
        self.key = key
        """The key of the run."""
        self.position = 0
        """The number of the last report that was recorded."""

    def record(self, sink: Sink, events: Sequence[RunEvent], *, position: int) -> None:
        """Keep the position, and emit the events."""
        self.position = position
        for event in events:
            sink.emit(event)

    def caught_up(self) -> None:
        """Nobody shares a budget with the run."""

    def lose(self) -> None:
        """Nobody counts what the run has used."""

    def again(self) -> KeptFeed:
        """Return the feed of the same run where it is begun once more."""
        return KeptFeed(f"{self.key}+")

    async def stored(self) -> int:
        """All that is kept is stored."""
        await checkpoint()
        return self.position
