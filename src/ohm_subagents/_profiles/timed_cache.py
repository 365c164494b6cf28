"""A value that is read again after five seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.contract.ids import Clock

FRESH_MS: Final = 5000
T = TypeVar("T")


class TimedCache(Generic[T]):
    """Call it for what `read` returned at most five seconds ago; a clock that was put back counts as later."""

    def __init__(self, read: Callable[[], T], now: Clock) -> None:
        self._read = read
        self._now = now
        self._kept: tuple[int, T] | None = None

    def __call__(self) -> T:
        if self._kept is None or not 0 <= self._now() - self._kept[0] < FRESH_MS:
            found = self._read()
            self._kept = self._now(), found  # what takes long to read is as fresh as anything else
        return self._kept[1]

    def drop(self) -> None:
        """Read again at the next call."""
        self._kept = None
