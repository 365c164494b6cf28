"""The feed of a run that goes on without the process that started it: how much of it is recorded."""

from __future__ import annotations

from typing import ClassVar, Literal

from ohm_subagents._records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRead:
    """Everything that a backend has reported of the open run up to a position of its feed is recorded."""

    TEXTS: ClassVar[tuple[str, ...]] = ()
    key: str
    """The key by which the backend knows the run."""
    position: int
    """The number of the last report that is recorded."""
    kind: Literal["feed_read"] = "feed_read"
