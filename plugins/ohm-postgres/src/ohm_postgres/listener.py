"""The thread that the database tells of settled tasks and of commands, whichever process is at work on them."""

from __future__ import annotations

import os
import select
import threading
from typing import TYPE_CHECKING, Final

from ohm_postgres.link import LOST, Link

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_postgres.link import Address

_RETRY_S: Final = 1.0


class Listener:
    """Calls functions when there is news, and when the connection was made anew: some may have been missed since."""

    def __init__(self, address: Address) -> None:
        self._link = Link(address)
        self._wakes: dict[tuple[str, str], Callable[[], None]] = {}
        self._thread: threading.Thread | None = None
        self._ends: tuple[int, int] | None = None
        """A pipe: the thread ends when something can be read."""

    def on(self, channel: str, wake: Callable[[], None], *, payload: str = "") -> None:
        """Call a function when this is said on a channel; before `start`."""
        self._wakes[channel, payload] = wake

    def start(self) -> None:
        """Listen from now on."""
        if self._thread is None:
            self._ends = os.pipe()
            self._thread = threading.Thread(
                target=self._run, args=self._ends[:1], name="ohm-postgres listener", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None and self._ends is not None:
            os.write(self._ends[1], b"x")
            self._thread.join()
            for end in self._ends:
                os.close(end)
        self._thread = self._ends = None

    def _run(self, end: int) -> None:
        try:
            while not self._is_over(end):
                try:
                    self._listen(end)
                except LOST:
                    self._link.drop()
                    if self._is_over(end, wait_s=_RETRY_S):
                        return
        finally:
            self._link.drop()

    def _listen(self, end: int) -> None:
        """Wake at once, and whenever there is news, until the end. Raises what tells of a lost connection."""
        connection = self._link.connection
        for channel in {channel for channel, _ in self._wakes}:
            connection.execute(f"LISTEN {channel}".encode())
        said = {*self._wakes}
        while True:
            for key in said & {*self._wakes}:
                self._wakes[key]()
            if self._is_over(end, connection.fileno()):
                return
            said = {(each.channel, each.payload) for each in connection.notifies(timeout=0)}

    def _is_over(self, end: int, *others: int, wait_s: float | None = None) -> bool:
        """Wait until something can be read of `others`, or it is over; without others `wait_s`, or not at all."""
        ready = select.poll()  # `select.select` has no place for high numbers
        for one in (end, *others):
            ready.register(one, select.POLLIN)
        timeout_ms = None if others else (wait_s or 0) * 1000
        return any(one == end for one, _ in ready.poll(timeout_ms))
