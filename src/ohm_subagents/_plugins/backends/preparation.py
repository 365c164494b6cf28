"""Preparation of backends before a run needs them: imports, models, processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ohm_subagents._concurrency.shared_resource import READY_WITHIN_S
from ohm_subagents._plugins.backends.attaching import Reattached
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Ok

if TYPE_CHECKING:
    from ohm_subagents._plugins.backends.interface import Backend, RunOutput
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.result import Result


class Preparing(Protocol):
    """A `Backend` that makes something at its first run and keeps it: it imports an SDK, it opens a model.

    Its spec declares `Capability.PREPARES`; a method of this name that a backend has for itself is never called.
    """

    async def prepare(self, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        """Make what runs of this profile need, off the event loop, and without asking anybody outside.

        Called before each run, when no clock of it counts yet, and by `Ohm.warm_up`; `model` is that of `RunRequest`.
        `warm_up` reports an `Err`; a run meets the same cause, and fails for it. Return at once if nothing is missing.
        """
        ...


class PreparingBackend(Preparing, Protocol):
    """A backend as a pool hands it out: it can be prepared, whatever it is."""

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run one prompt to its end."""
        ...


class Unprepared:
    """A backend that makes nothing."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.run = backend.run

    async def attach(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        return await Reattached(self._backend).run(request, sink)

    async def prepare(self, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        del profile, model
        return Ok(None)


def not_ready(backend_id: str) -> OhmError:
    """Return the error of a run whose backend took longer than `READY_WITHIN_S`."""
    return OhmError(
        code=ErrorCode.BACKEND_TIMEOUT,
        message=f"The backend '{backend_id}' was not ready within {READY_WITHIN_S / 60:.0f} minutes.",
        advice="Something that it opens, imports or loads may hang. Try again, or use another backend or model.",
        retryable=True,
    )
