"""A backend that does what a function says, for tests of what the engine does about it."""

from contextlib import asynccontextmanager

from ohm_subagents.plugin import BackendSpec, Capability, Ok, Options, RunOutput, hookimpl

ALL = frozenset(Capability) - {Capability.ATTACHES}
"""Everything that `act` could do; its runs end with the process."""


class ActingBackend:
    """`act(request, sink)` is every run; a text that it returns is the answer."""

    def __init__(self, act, *, id="acting", capabilities=ALL):
        self.act = act
        self.id = id
        self.capabilities = capabilities
        self.requests = []

    async def prepare(self, profile, model):
        return Ok(None)

    async def run(self, request, sink):
        self.requests.append(request)
        answer = await self.act(request, sink)
        return Ok(RunOutput(text=answer)) if isinstance(answer, str) else answer

    @hookimpl
    def ohm_backends(self):
        @asynccontextmanager
        async def opened(_options):
            yield self

        spec = BackendSpec(id=self.id, summary="", options=Options, open=opened, capabilities=self.capabilities)
        return (spec,)
