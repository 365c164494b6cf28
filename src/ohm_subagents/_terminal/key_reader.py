"""The keys of the terminal, which is lent meanwhile to whoever lets a line be typed."""

from __future__ import annotations

import os
import re
import sys
import termios
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._terminal.prompts import is_attended

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from ohm_subagents._terminal.display import Display

_KEY: Final = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])?|[^\x1b]")
_BYTES: Final = 1024


def has_keyboard() -> bool:
    """Return True if somebody is there to press keys, and the terminal lets this process read them."""
    if not is_attended():
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # the terminal controls no processes, so it stops none that read in the background
        return True


class KeyReader:
    """Reads the keys that are pressed, unseen, while `display` draws."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._reader = anyio.Lock()
        self._reading = anyio.CancelScope()
        self._borrowers = 0

    async def keys(self) -> AsyncGenerator[str]:
        """Yield each key, until the terminal is closed."""
        with _unechoed() as terminal:
            while (pressed := await self._pressed(terminal)) is not None:
                for key in _KEY.findall(pressed):
                    yield key

    @asynccontextmanager
    async def lent(self) -> AsyncGenerator[None]:
        """Read no keys and draw nothing while this is open."""
        self._borrowers += 1
        self._reading.cancel()
        try:
            async with self._reader:
                with self._display.paused():
                    yield
        finally:
            self._borrowers -= 1

    async def _pressed(self, terminal: int) -> str | None:
        """Return the next keys, none if the terminal is to be lent; None once it is closed."""
        async with self._reader:
            if self._borrowers:  # one of them is next
                return ""
            with anyio.CancelScope() as self._reading:
                await anyio.wait_readable(terminal)
                try:
                    return os.read(terminal, _BYTES).decode(errors="replace") or None
                except OSError:
                    return None
        return ""


@contextmanager
def _unechoed() -> Generator[int]:
    """Get each key at once, and unseen; Ctrl-C stays a signal."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
    try:
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
