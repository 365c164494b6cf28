"""A pseudo-terminal, as a person sees it."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import select
import struct
import termios
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wcwidth import strip_sequences

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 60


class Screen:
    """Everything the program wrote so far."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._written = b""

    @property
    def raw(self) -> str:
        return self._written.decode(errors="replace")

    @property
    def text(self) -> str:
        return strip_sequences(self.raw).replace("\r", "")

    def wait_for(self, *texts: str, times: int = 1) -> None:
        while not all(self.text.count(text) >= times for text in texts):
            assert self._read(), f"{texts} never came: {self.text!r}"

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for_end(self) -> None:
        while self._read():
            pass

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE_S)
        assert ready, f"nothing happens any more after: {self.text!r}"
        try:
            chunk = os.read(self._master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # how Linux says that the other side is closed
                raise
            return False
        self._written += chunk
        return bool(chunk)


@contextmanager
def on_terminal(
    ohm, *arguments: str, rows: int = 30, columns: int = 80, stdin: int | None = None
) -> Iterator[tuple[Screen, object]]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        with ohm.start(*arguments, stdin=slave if stdin is None else stdin, stdout=slave, stderr=slave) as process:
            os.close(slave)
            yield Screen(master), process
    finally:
        os.close(master)
