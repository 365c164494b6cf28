"""The echo backend, `none`: it answers with what it was asked, without a model. For tests, demos and wiring."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from ohm_subagents.contract import shortened
from ohm_subagents.plugin import (
    BackendSpec,
    Capability,
    Ok,
    Options,
    RunOutput,
    agent_fields,
    hookimpl,
    unsupported_options,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents.plugin import Backend, OhmError, Result, RunRequest, Sink

LABEL = "scaffold"  # the recorded envelopes call its runtime so
PROMPT = 220
"""At most so many characters of a prompt are in an answer."""


class EchoBackend:
    """Answers with what it was asked."""

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Echo the request; a follow-up shows the first prompt, the newest one and how many there were."""
        await checkpoint()
        if request.profile.agent is not None:
            for event in unsupported_options(request, agent_fields(request.profile), backend_id=ECHO.id):
                sink.emit(event)
        asked = [f"subagent: {request.profile.id}", f"description: {request.description}"]
        if request.history:
            asked += [
                f"initial_prompt: {shortened(request.history[0].prompt, PROMPT)}",
                f"follow_up_prompt: {shortened(request.prompt, PROMPT)}",
                f"follow_up_count: {len(request.history)}",
            ]
        else:
            asked += [f"prompt: {shortened(request.prompt, PROMPT)}"]
        where = [f"backend: {LABEL}", f"cwd: {request.cwd}", f"mode: {request.mode}"]
        return Ok(RunOutput(text="\n".join([*asked, *where])))


@asynccontextmanager
async def _open(_options: Options) -> AsyncGenerator[Backend, None]:
    yield EchoBackend()


ECHO = BackendSpec(
    id="none",
    summary="Deterministic echo of the request; runs nothing.",
    options=Options,
    open=_open,
    capabilities=frozenset({Capability.SESSIONS, Capability.AGENT_OPTIONS, Capability.CALL_RULES, Capability.SANDBOX}),
    label=LABEL,
)


@hookimpl
def ohm_backends() -> Iterable[BackendSpec]:
    """Offer the backend."""
    yield ECHO
