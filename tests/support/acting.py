"""A backend that does what a function says, for tests of what the engine does about it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from ohm_subagents.contract import ModelPattern, OhmError, Profile, Result
from ohm_subagents.plugin import BackendSpec, Capability, Ok, Options, RunOutput, RunRequest, Sink, hookimpl

Answer: TypeAlias = str | Result[RunOutput, OhmError]
Act: TypeAlias = Callable[[RunRequest, Sink], Awaitable[Answer]]

ALL = frozenset(Capability) - {Capability.ATTACHES}
"""Everything that `act` could do; its runs end with the process."""


class ActingBackend:
    """`act(request, sink)` is every run; a text that it returns is the answer."""

    def __init__(self, act: Act, *, id: str = "acting", capabilities: frozenset[Capability] = ALL) -> None:
        self.act = act
        self.id = id
        self.capabilities = capabilities
        self.requests: list[RunRequest] = []

    async def prepare(self, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        return Ok(None)

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        self.requests.append(request)
        answer = await self.act(request, sink)
        return Ok(RunOutput(text=answer)) if isinstance(answer, str) else answer

    @hookimpl
    def ohm_backends(self) -> tuple[BackendSpec, ...]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[ActingBackend]:
            yield self

        spec = BackendSpec(id=self.id, summary="", options=Options, open=opened, capabilities=self.capabilities)
        return (spec,)
