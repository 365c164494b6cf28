"""The start of a process, which whoever waits for it may leave at any moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import anyio

from ohm_subagents.contract.result import Ok

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.result import Result


class Stoppable(Protocol):
    """A process as far as its start needs it."""

    def stop(self) -> None:
        """End it, and return at once."""
        ...


ProcessT = TypeVar("ProcessT", bound=Stoppable)


class Start(Generic[ProcessT]):
    """Runs in a task of the supervisor: in that of its caller, asyncio's own cancellation would pass every shield."""

    def __init__(self, begin: Callable[[], Awaitable[Result[ProcessT, OhmError]]]) -> None:
        self._begin = begin
        self._is_over = anyio.Event()
        self._result: Result[ProcessT, OhmError] | None = None
        self._failure: Exception | None = None
        self._is_abandoned = False

    async def play(self) -> None:
        """Start the process; one that nobody waits for any more is ended.

        A cancellation does not reach it: the process would run on, and whoever waits for it would wait as long.
        """
        try:
            with anyio.CancelScope(shield=True):
                self._result = await self._begin()
        except Exception as failure:  # noqa: BLE001  it is raised where somebody waits for the process
            self._failure = failure
        self._is_over.set()
        if self._is_abandoned:
            self._abandon()

    async def result(self) -> Result[ProcessT, OhmError]:
        """Wait for it, through a cancellation: half-way, there would be an unknown process."""
        try:
            with anyio.CancelScope(shield=True):
                await self._is_over.wait()
        except BaseException:
            self._abandon()
            raise
        if self._failure is not None:
            raise self._failure
        assert self._result is not None  # noqa: S101  it is over, and has not failed
        return self._result

    def _abandon(self) -> None:
        self._is_abandoned = True
        if isinstance(self._result, Ok):
            self._result.ok_value.stop()
