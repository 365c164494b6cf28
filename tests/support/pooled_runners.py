"""Runners of a pool in this process, behind the calls of an actor."""

from collections import Counter
from contextlib import asynccontextmanager

import anyio
from pydantic_core import from_json, to_json
from told_backend import TOLD, Told

from ohm_ray.about import digests
from ohm_ray.backend import open_pool
from ohm_ray.hooks import CAPABILITIES
from ohm_ray.options import RayOptions
from ohm_ray.services import keyless, written
from ohm_subagents import Ohm
from ohm_subagents.plugin import BackendSpec, hookimpl
from ohm_subagents.remote import Patience, Runner, RunnerLostError, UndeliveredError
from ohm_subagents.testing import HERMETIC


class Hosted:
    """A runner with a life that may end."""

    def __init__(self, group, backend, capabilities, backend_id, begun, made_for, services):
        self.runner = Runner(backend, group, backend_id=backend_id)
        self.dead = anyio.Event()
        self._begun = begun
        self._about = {"capabilities": sorted(capabilities), "digests": made_for, "services": written(services)}

    async def call(self, method, *frames):
        if self.dead.is_set():
            raise RunnerLostError("It was killed.")
        if method == "about":
            return to_json(self._about)
        answers, asked = [], [*map(from_json, frames)]
        if method == "post":
            self._begun.update(one["run"]["task_id"] for one in asked[0]["messages"] if one["kind"] == "start")

        async def ask():
            answers.append(await getattr(self.runner, method)(*asked))
            scope.cancel()

        async with anyio.create_task_group() as group:
            scope = group.cancel_scope
            group.start_soon(ask)
            await self.dead.wait()
            scope.cancel()
        if not answers:
            raise RunnerLostError("It was killed.")
        return to_json(answers[0])


class PooledRunners:
    """The runners by number, all of one backend. One that was killed is started anew when it is looked for."""

    def __init__(self, group, backend, capabilities=frozenset(), backend_id=""):
        self.begun = Counter()
        """The runs of each task, by its id, that these runners were sent."""
        self._made = group, backend, capabilities, backend_id, self.begun
        self.hosted = {}
        self.is_down = False
        self.options = None
        self.services = ()

    async def has(self, number):
        return number in self.hosted

    async def find(self, number):
        if self.is_down:
            raise UndeliveredError("There is no cluster.")
        found = self.hosted.get(number)
        if found is None or found.dead.is_set():
            made_for = digests(self.options) if self.options else {}
            found = self.hosted[number] = Hosted(*self._made, made_for, self.services)
            if self.options is not None and number >= self.options.fewest:
                self._made[0].start_soon(self._end, found, number)
        return found

    async def _end(self, runner, number):
        """End a runner as an actor does that the pool need not have."""
        await runner.runner.unused(self.options.idle_s)
        runner.dead.set()
        if self.hosted[number] is runner:
            del self.hosted[number]


@asynccontextmanager
async def pool(*more, settings=None, env=HERMETIC, here=None, providers=None, **options):
    """An `Ohm` whose backend is a pool of runners here, and the runners."""
    async with anyio.create_task_group() as group:
        services = ()
        here = here or PooledRunners(group, Told("Done"), TOLD.capabilities, "told")

        @asynccontextmanager
        async def opened(given):
            here.options, here.services = given, services
            async with open_pool(here, given, services=services, patience=Patience(retry_s=0, lost_s=0)) as backend:
                yield backend

        class Plugin:
            @hookimpl
            def ohm_backends(self, context):
                nonlocal services
                services = keyless(context.providers)
                yield BackendSpec(id="ray", summary="", options=RayOptions, open=opened, capabilities=CAPABILITIES)

        subagents = {"backends": {"ray": {"run": "told", **options}}, **(settings or {})}
        config = {"subagentBackend": "ray", "subagents": subagents, "providers": providers or {}}
        async with Ohm.open(env=env, config=config, plugins=[Plugin(), *more]) as ohm:
            yield ohm, here
        group.cancel_scope.cancel()
