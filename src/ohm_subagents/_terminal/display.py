"""Frames on the terminal, drawn again and again in place."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents._terminal.terminal import styled

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.text import Text

FRAMES_A_SECOND: Final = 10


class Display:
    """Frames on the terminal: see `drawn`."""

    def __init__(self, frame: Callable[[int, int], str]) -> None:
        from rich.ansi import AnsiDecoder
        from rich.console import Console
        from rich.live import Live

        self._frame = frame
        self._console = Console(highlight=False)
        self._decode = AnsiDecoder().decode_line
        self._cells: list[int] = []
        self._live = Live(
            console=self._console,
            get_renderable=self._renderable,
            refresh_per_second=FRAMES_A_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def start(self) -> None:
        """Draw from now on."""
        self._live.start()

    def stop(self) -> None:
        """Wipe what is drawn."""
        with suppress(OSError):  # the terminal was closed
            self._live.stop()
        self._cells = []

    def refresh(self) -> None:
        """Draw now."""
        self._live.refresh()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Draw nothing while this is open, so that other things can be printed, and typed."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def _renderable(self) -> Text:
        from rich.text import Text

        width, height = self._console.size
        self._wipe_rewrapped(width)
        lines = [self._decode(line) for line in styled(self._frame(width, height - 1)).split("\n")[1 - height :]]
        self._cells = [line.cell_len for line in lines]
        return Text("\n", no_wrap=True, overflow="crop").join(lines)

    def _wipe_rewrapped(self, width: int) -> None:
        """Wipe the rows that the last frame has more since the terminal became narrower and wrapped its lines."""
        from rich.control import Control
        from rich.segment import ControlType

        more = sum(max(0, -(-cells // max(1, width)) - 1) for cells in self._cells)
        if more:
            wiped = ((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)) * more
            self._console.control(Control(ControlType.CARRIAGE_RETURN, *wiped))


@contextmanager
def drawn(frame: Callable[[int, int], str]) -> Generator[Display]:
    """Draw `frame(width, height)` on the terminal again and again, and wipe it at the end.

    Of the escape sequences in a frame only colours reach the terminal.
    """
    display = Display(frame)
    display.start()
    try:
        yield display
    finally:
        display.stop()
