"""The thread and the event loop that an `Ohm` was opened in: it works there alone, until it is closed."""

from __future__ import annotations

from threading import get_ident

from ohm_subagents._concurrency.event_loop import loop_finder


class ClosedError(RuntimeError):
    """The `Ohm` is closed: it takes no more calls."""


class WrongEventLoopError(RuntimeError):
    """The `Ohm` was used in another thread or event loop than the one that opened it; nothing was done."""


class OwnEventLoop:
    """Remembers the thread and the event loop that it is made in."""

    __slots__ = ("_find_loop", "_is_closed", "_loop", "_thread")

    def __init__(self) -> None:
        self._thread = get_ident()
        self._find_loop = loop_finder()
        self._loop = self._find_loop()
        self._is_closed = False

    def close(self) -> None:
        """Refuse everything from now on."""
        self._is_closed = True

    def check(self) -> None:
        """Raise `ClosedError` after `close`, and `WrongEventLoopError` anywhere else, before anything is done there."""
        try:
            is_here = get_ident() == self._thread and self._find_loop() is self._loop
        except RuntimeError:
            is_here = False
        if not is_here:
            raise WrongEventLoopError(
                "This Ohm was opened in another thread or event loop, and works only there; from another thread, use"
                " `ohm.from_thread.run(profile, prompt)`."
            )
        if self._is_closed:
            raise ClosedError("This Ohm is closed; use it inside `async with Ohm.open(...)`, or before `aclose`.")
