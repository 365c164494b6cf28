"""Runners of a pool in this process, behind the calls of an actor."""

from collections import Counter
from contextlib import asynccontextmanager
from functools import partial

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
    """A runner with a life that may end, and a line that may be cut before: no call gets through from then on."""

    def __init__(self, group, backend, capabilities, backend_id, begun, ledger, made_for, services):
        self._made = partial(Runner, backend, group, backend_id=backend_id, ledger=ledger)
        self.runner = self._made()
        self.dead, self.is_cut = anyio.Event(), anyio.Event()
        self._begun = begun
        self._about = {"capabilities": sorted(capabilities), "digests": made_for, "services": written(services)}

    def begin_anew(self):
        """Be another life behind the same line; who waits for news of the one before waits in vain."""
        self.runner = self._made()

    async def call(self, method, *frames):
        if self.dead.is_set():
            raise RunnerLostError("It was killed.")
        if method == "about":
            return to_json(self._about)
        answers, asked = [], [*map(from_json, frames)]
        if method == "post":
            self._begun.update(one["run"]["task_id"] for one in asked[0]["messages"] if one["kind"] == "start")

        asking = anyio.CancelScope()

        async def ask():
            with asking:
                answers.append(await getattr(self.runner, method)(*asked))
                group.cancel_scope.cancel()

        async def cut():
            await self.is_cut.wait()
            asking.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(cut)
            group.start_soon(ask)
            await self.dead.wait()
            group.cancel_scope.cancel()
        if not answers:
            raise RunnerLostError("It was killed.")
        return to_json(answers[0])


class PooledRunners:
    """The runners by number, all of one backend. One that was killed is started anew when it is looked for."""

    def __init__(self, group, backend, capabilities=frozenset(), backend_id="", ledger=None):
        self.begun = Counter()
        """The runs of each task, by its id, that these runners were sent."""
        self._made = group, backend, capabilities, backend_id, self.begun, ledger
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
async def pool(*more, settings=None, env=HERMETIC, here=None, providers=None, ledger=None, cancel_s=10.0, **options):
    """An `Ohm` whose backend is a pool of runners here, and the runners; a `ledger` is asked after 50 ms of silence."""
    async with anyio.create_task_group() as group:
        services = ()
        here = here or PooledRunners(group, Told("Done"), TOLD.capabilities, "told")

        @asynccontextmanager
        async def opened(given):
            here.options, here.services = given, services
            if ledger is not None:
                given = given.model_copy(update={"ledger_after_ms": 50})
            patience = Patience(retry_s=0, lost_s=0, cancel_s=cancel_s)
            async with open_pool(here, given, services=services, patience=patience, ledger=ledger) as backend:
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
