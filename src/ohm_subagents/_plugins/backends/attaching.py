"""Backends whose runs go on when the process of the `Ohm` dies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from ohm_subagents._plugins.backends.interface import Backend, RunOutput
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.result import Result


class Attaching(Protocol):
    """A `Backend` whose runs go on elsewhere when the process of the `Ohm` dies.

    Its spec declares `Capability.ATTACHES`. It begins a run of `RunRequest.feed.key` once, however often it is asked,
    numbers what the run reports from 1 on, and gives it to `RunFeed.record` in place of `Sink.emit`.
    """

    async def attach(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Go on with the run of `request.feed.key`, from what it reported after `request.feed.position`.

        The request is the one that the run was begun with, as far as another process can make it again. An `Err` with
        `runner_lost` says that the run is not to be found.
        """
        ...


class Reattached:
    """A backend that declares `ATTACHES`, to go on with a run that it has instead of beginning one."""

    def __init__(self, backend: Backend) -> None:
        self._backend = cast("Attaching", backend)

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Attach to the run of `request.feed`."""
        return await self._backend.attach(request, sink)
