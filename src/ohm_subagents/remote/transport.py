"""The transport between submitters and one runner: it may delay, duplicate, reorder and drop what it carries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ohm_subagents.contract.wire import WireObject


class UndeliveredError(Exception):
    """A call got no answer: the runner may have taken it, or not. It is made again, and counts once."""


class RunnerLostError(Exception):
    """The runner is gone, and what it ran is lost. The text is the reason."""


class RunnerUnusableError(RunnerLostError):
    """The runner answered that it cannot open its backend, and has no runs. The text says why."""


class Transport(Protocol):
    """Calls to one runner. Each takes and returns plain JSON, whose meaning is nobody's business on the way.

    Raise `UndeliveredError` where a call may not have arrived, and `RunnerLostError` where the runner is certainly
    gone; an answer of another `incarnation` says that too. Nothing of a call may be logged: it holds prompts.
    """

    async def hello(self) -> WireObject:
        """Return the runner's `Hello`, by `Runner.hello`."""
        ...

    async def post(self, frame: WireObject) -> WireObject:
        """Hand a `Post` to `Runner.post`, and return its answer."""
        ...

    async def feed(self, frame: WireObject) -> WireObject:
        """Hand a `Poll` to `Runner.feed`, and return its answer, which may take as long as the `wait_s` of the poll."""
        ...


class LoopbackTransport:
    """Calls a runner in the same process, through JSON text."""

    def __init__(self, runner: Transport) -> None:
        self._runner = runner

    async def hello(self) -> WireObject:
        """Return the runner's `Hello`."""
        return _through_text(await self._runner.hello())

    async def post(self, frame: WireObject) -> WireObject:
        """Hand over a `Post`."""
        return _through_text(await self._runner.post(_through_text(frame)))

    async def feed(self, frame: WireObject) -> WireObject:
        """Hand over a `Poll`."""
        return _through_text(await self._runner.feed(_through_text(frame)))


def _through_text(frame: WireObject) -> WireObject:
    copied: WireObject = json.loads(json.dumps(frame))
    return copied
