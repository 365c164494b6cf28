"""The far end: an actor of Ray, in which a `Runner` hosts the runs of any number of submitters."""

from __future__ import annotations

import asyncio  # noqa: TID251  an actor of Ray runs on it, and nothing but a task of its own outlives a call
import gc
from importlib import import_module
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json, to_json

from ohm_ray import services
from ohm_ray.calls import UnusableError
from ohm_ray.ledgers import Ledgers
from ohm_subagents.config import process_env
from ohm_subagents.plugin import BackendContext, Err, installed_backends, nearest_name, validated_options
from ohm_subagents.remote import open_runner

if TYPE_CHECKING:
    from ohm_subagents.contract.wire import WireObject
    from ohm_subagents.plugin import BackendSpec, JsonObject, Options
    from ohm_subagents.remote import Runner


GC_THRESHOLD: Final = 50_000
"""Objects that are made between two looks for garbage; a run has some hundred."""


class RunnerActor:
    """Hosts one `Runner`, which opens with the first call, by the environment of this machine.

    Its calls wait in one event loop. All groups of concurrency in Ray have a loop each, so there is only one here.
    """

    def __init__(self, settings: bytes) -> None:
        """Take JSON: `run`, the id of a backend, `options` of it, `services`, `digests` for `about`, and `idle_s`.

        `services` are the OpenAI-compatible ones that its backend may ask, with keys of this machine. `idle_s` are the
        seconds without a run after which it ends; None for one that stays. `pool` names the ledger to ask.
        """
        self._settings = from_json(settings)
        self._capabilities: list[str] = []
        self._serving: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[Runner] | None = None

    async def hello(self) -> bytes:
        """Answer `Runner.hello`."""
        return _written(await (await self._runner()).hello())

    async def post(self, frame: bytes) -> bytes:
        """Answer `Runner.post`."""
        return _written(await (await self._runner()).post(from_json(frame)))

    async def feed(self, frame: bytes) -> bytes:
        """Answer `Runner.feed`."""
        return _written(await (await self._runner()).feed(from_json(frame)))

    async def about(self) -> bytes:
        """Answer with the capabilities of the backend, and what the runner was started with."""
        await self._runner()
        told = {name: self._settings[name] for name in ("digests", "services") if name in self._settings}
        return to_json({"capabilities": self._capabilities, **told})

    async def _runner(self) -> Runner:
        if self._opened is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._opened))
        return await asyncio.shield(self._opened)

    async def _serve(self, opened: asyncio.Future[Runner]) -> None:
        """Host runs until the actor ends, or nobody needs it. One that cannot be opened is tried again."""
        try:
            env = process_env()
            context = BackendContext(env=env, providers=services.read(self._settings.get("services", [])))
            spec, options = configured(self._settings["run"], self._settings["options"], context)
            self._capabilities = sorted(spec.capabilities)
            async with open_runner(spec, options, env=env, ledger=self._ledger()) as runner:
                gc.freeze()  # the modules stay, and to look at them with each burst of runs takes longer than the runs
                gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
                opened.set_result(runner)
                await runner.unused(self._settings["idle_s"])
            await asyncio.to_thread(end_actor)
        except Exception as error:  # noqa: BLE001  whoever called is told
            self._opened = None
            if not opened.done():
                opened.set_exception(UnusableError(str(error) or type(error).__name__))

    def _ledger(self) -> Ledgers | None:
        pool = self._settings.get("pool")
        return None if pool is None else Ledgers(import_module("ray"), pool)


def end_actor() -> None:
    """End this actor for good; one that only exits is started anew."""
    ray = import_module("ray")
    ray.kill(ray.get_runtime_context().current_actor)


def configured(run: str, written: JsonObject, context: BackendContext) -> tuple[BackendSpec, Options]:
    """Return an installed backend and its options. Raises `UnusableError` with one sentence."""
    offered = installed_backends(context, options={run: written} if written else {})
    if run not in offered:
        near = nearest_name(run, offered)
        meant = "" if near is None else f"Did you mean '{near}'? "
        there = f"{meant}Available: {', '.join(sorted(offered))}."
        missing = f"On its machine, no plugin offers the backend '{run}'. {there}"
        raise UnusableError(missing)
    checked = validated_options(offered[run], {run: written})
    if isinstance(checked, Err):
        raise UnusableError(checked.err_value.message)
    return offered[run], checked.ok_value


def _written(frame: WireObject) -> bytes:
    return to_json(frame)
