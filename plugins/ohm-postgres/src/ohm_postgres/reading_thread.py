"""The thread that asks the database, so that an event loop waits for no server that never answers."""

from __future__ import annotations

from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable

    Rows = list[tuple[Any, ...]]
    Call = tuple["Callable[[], Rows]", "Future[Rows]"]

ANSWER_S: Final = 5.0
"""Seconds for which an event loop waits for an answer."""


class ReadingThread:
    """Makes one call after the other. Whoever runs no event loop waits for as long as it takes."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._given_up: Future[Rows] | None = None
        self._thread: Thread | None = None

    def answer(self, call: Callable[[], Rows]) -> Rows:
        """Return what a call returns, or raise what it raises. Raises `TimeoutError` where that takes too long.

        Until then, no event loop waits again: it raises at once.
        """
        is_in_loop = _is_in_loop()
        if is_in_loop and self._given_up is not None and not self._given_up.done():
            raise TimeoutError
        if self._thread is None:
            self._thread = Thread(target=self._work, name="ohm-postgres reader", daemon=True)
            self._thread.start()
        future: Future[Rows] = Future()
        self._calls.put((call, future))
        try:
            return future.result(ANSWER_S if is_in_loop else None)
        except TimeoutError:
            self._given_up = future
            raise

    def close(self) -> None:
        """End the thread, once it is through with what it was asked."""
        self._calls.put(None)
        if self._thread is not None:
            self._thread.join(ANSWER_S)

    def _work(self) -> None:
        while (asked := self._calls.get()) is not None:
            call, future = asked
            try:
                future.set_result(call())
            except BaseException as exc:  # noqa: BLE001  it is raised to whoever asked
                future.set_exception(exc)


def _is_in_loop() -> bool:
    try:
        current_token()
    except RuntimeError:
        return False
    return True
