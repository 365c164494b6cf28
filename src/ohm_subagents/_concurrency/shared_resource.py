"""A resource that many share: opened on first use by a task of its own, which also closes it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import anyio

from ohm_subagents._concurrency.faults import as_exception
from ohm_subagents._concurrency.leavable_group import GRACE_S
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from ohm_subagents.contract.errors import OhmError

T = TypeVar("T")
READY_WITHIN_S: Final = 600.0
"""Seconds that a run waits until its backend is open and prepared, before any clock of it counts."""
CLOSE_GRACE_S = 10.0
"""Seconds that an open resource may take to close, before it is cancelled."""


class SharedResource(Generic[T]):
    """A context manager, held open by the task that runs `serve` until `begin_close`.

    A context manager that holds a task group must be closed by the task that opened it: neither a caller nor one of
    its users may be that, and a user that is cancelled takes it from no other. A subclass says what is opened, and what
    a failure is called.
    """

    def __init__(self) -> None:
        self.opened: Result[T, OhmError] | None = None
        self.is_open = False
        self.ready = anyio.Event()
        self._closing = anyio.Event()
        self._closed = anyio.Event()
        self._opening = anyio.CancelScope()
        self._shell = anyio.CancelScope()

    def open(self) -> AbstractAsyncContextManager[Result[T, OhmError]]:
        """Open it; an `Err` is why it cannot be had, and then nothing is held."""
        raise NotImplementedError

    def failed(self, error: Exception) -> OhmError:
        """Return the error of what raised, while it was opened, held (`is_open`) or closed. Called while handled."""
        raise NotImplementedError

    def late(self) -> OhmError:
        """Return the error of one that did not open within `READY_WITHIN_S`."""
        raise NotImplementedError

    def unclosed(self) -> None:
        """Notice that it was cancelled, because it did not close within `CLOSE_GRACE_S`."""

    async def serve(self) -> None:
        """Open it, hold it open, close it. Raises nothing but what ends the program or this task."""
        try:
            self._opening.deadline = anyio.current_time() + READY_WITHIN_S
            with self._opening, self._shell:
                async with self.open() as opened:
                    self.opened = opened
                    if isinstance(opened, Ok):
                        await self._hold()
        except BaseException as exc:  # noqa: BLE001  `as_exception` raises what is not a fault of the resource
            self.opened = Err(self.failed(as_exception(exc)))
        finally:
            if self._opening.cancelled_caught and not self._closing.is_set():
                self.opened = Err(self.late())
            if self._shell.cancelled_caught:
                self.unclosed()
            self.ready.set()
            self._closed.set()

    async def _hold(self) -> None:
        self.is_open = True
        self._opening.deadline = math.inf
        self._shell.shield = True  # from here on it ends by `begin_close`, which lets it clean up in peace
        self.ready.set()
        await self._closing.wait()
        self._begin_grace()  # again, for it may have been closed while it could not be cancelled

    @property
    def is_overdue(self) -> bool:
        """Tell whether it should have opened long ago, and cannot be cancelled."""
        return self.opened is None and self._opening.deadline + GRACE_S <= anyio.current_time()

    def begin_close(self) -> None:
        """Let it end: at once if it is only being opened, else within `CLOSE_GRACE_S`."""
        if not self._closing.is_set():
            self._opening.cancel()  # no run waits for what is only being opened; what is open is shielded from it
            if self.is_open:
                self._begin_grace()
            self._closing.set()

    async def close(self) -> bool:
        """Close it, and wait until it has ended; False if it does not, and is left to itself."""
        self.begin_close()
        with anyio.move_on_after(self.patience_s):
            await self._closed.wait()
        return self._closed.is_set()

    @property
    def patience_s(self) -> float:
        """The seconds that `close` waits."""
        return GRACE_S + (CLOSE_GRACE_S if self.is_open else 0)

    def _begin_grace(self) -> None:
        self._shell.deadline = anyio.current_time() + CLOSE_GRACE_S
