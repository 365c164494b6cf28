"""A backend that does what its script says, for tests of anything that delegates."""

from __future__ import annotations

from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents._plugins.backends.interface import Backend, BackendSpec, Capability, Options, RunOutput
from ohm_subagents._plugins.hooks.specs import hookimpl
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import RunEvent
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One run: emit `events`, wait, then raise `crash`, fail with `error`, or answer `text`."""

    text: str = ""
    """The answer."""
    summary: str = ""
    """The summary of the answer."""
    events: tuple[RunEvent, ...] = ()
    """Events to emit first."""
    gate: anyio.Event | None = None
    """Waited for, then."""
    delay_s: float = 0
    """Seconds of the event loop's clock to wait after that; a test may control it."""
    error: OhmError | None = None
    """The failure, in place of an answer."""
    crash: Exception | None = None
    """Raised, in place of an answer."""


class ScriptedBackend:
    """Runs `steps` in order, one a run; a text is short for `Step(text=...)`. Pass it in `Ohm.open(plugins=[...])`.

    `calls` are the requests it got. A run beyond the script fails, and `assert_done` raises for it and for leftovers.
    """

    def __init__(self, *steps: Step | str, id: str = "scripted", default: Step | None = None) -> None:
        self.id = id
        self.calls: list[RunRequest] = []
        self._steps = deque(Step(text=step) if isinstance(step, str) else step for step in steps)
        self._default = default
        self._surplus = 0

    @property
    def spec(self) -> BackendSpec:
        """Return the spec by which a plugin offers it."""
        return BackendSpec(
            id=self.id,
            summary="Runs a script.",
            options=Options,
            open=self._open,
            # It calls no tool, so there is nothing that rules could ask about.
            capabilities=frozenset({Capability.SESSIONS, Capability.FINALIZE, Capability.CALL_RULES}),
        )

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        """Offer it as a plugin."""
        return (self.spec,)

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Do the next step."""
        self.calls.append(request)
        step = self._steps.popleft() if self._steps else self._default
        if step is None:
            self._surplus += 1
            surplus = f"Run {len(self.calls)} has no step in the script."
            raise AssertionError(surplus)
        await checkpoint()
        for event in step.events:
            sink.emit(event)
        if step.gate is not None:
            await step.gate.wait()
        if step.delay_s:
            await anyio.sleep(step.delay_s)
        if step.crash is not None:
            raise step.crash
        return Err(step.error) if step.error is not None else Ok(RunOutput(text=step.text, summary=step.summary))

    def assert_done(self) -> None:
        """Raise unless the script was played exactly."""
        if self._steps or self._surplus:
            difference = f"{len(self._steps)} steps were never run, {self._surplus} runs had no step."
            raise AssertionError(difference)

    @asynccontextmanager
    async def _open(self, _options: Options) -> AsyncGenerator[Backend]:
        yield self
