"""The places where a backend puts what it reports of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents.contract.events import RunEvent


class Sink(Protocol):
    """Receives a backend's events; synchronous: state never changes half-way and no observer can suspend a backend."""

    def emit(self, event: RunEvent) -> None:
        """Record one fact about the run. Ignored once the run has returned."""
        ...


class RunFeed(Protocol):
    """The reports of a run of an `Attaching` backend, as far as they are recorded."""

    @property
    def key(self) -> str:
        """The key of the run: another one for each call of `Backend.run`, and the same when it is attached to."""
        ...

    @property
    def position(self) -> int:
        """The number of the last report that is recorded; 0 for a run that begins."""
        ...

    @property
    def is_left(self) -> bool:
        """Return True once the run is left to another process: one that is cancelled then goes on at the backend."""
        ...

    def record(self, sink: Sink, events: Sequence[RunEvent], *, position: int) -> None:
        """Emit what the reports up to `position` said, and record both together: after a crash all is there, or none.

        `sink` is that of the run.
        """
        ...

    def caught_up(self) -> None:
        """Note that an attached run has told all that it did while nobody heard it, and has no model request open.

        Until then, or until it asks for a request, none is granted to those that share a budget with it.
        """
        ...

    def lose(self) -> None:
        """Note that an attached run was lost before it had told all: it may have had a request out, which counts."""
        ...

    def again(self) -> RunFeed:
        """Return the feed of the same run where it is begun once more: with another key, and numbered from 1 on."""
        ...

    async def stored(self) -> int:
        """Wait until what is recorded so far is stored; return the position up to which no report is needed again."""
        ...
