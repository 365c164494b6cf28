"""The runners of a pool as actors of Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json

from ohm_ray.about import digests
from ohm_ray.actor import RunnerActor
from ohm_ray.calls import NAMESPACE, ActorCalls, asked
from ohm_ray.services import written

if TYPE_CHECKING:
    from types import ModuleType

    from ohm_ray.calls import ActorHandle
    from ohm_ray.options import RayOptions
    from ohm_ray.runners import RunnerCalls
    from ohm_ray.services import Services

MAX_CALLS: Final = 2000
"""Calls that an actor takes at once: each submitter keeps two in flight, and those of dead ones wait until they end."""


class Actors:
    """The runners of a pool, as detached actors with names: they outlive their submitters (`Runners`)."""

    def __init__(self, ray: ModuleType, options: RayOptions, services: Services = ()) -> None:
        self._ray = ray
        self._options = options
        self._services = services

    async def find(self, number: int) -> RunnerCalls:
        """Return the actor of this number, which is started if there is none."""
        return ActorCalls(await asked(self._ray, lambda: self._found(number)))

    async def has(self, number: int) -> bool:
        """Return True if there is an actor of this number."""
        try:
            await asked(self._ray, lambda: self._ray.get_actor(self._name(number), namespace=NAMESPACE))
        except ValueError:
            return False
        return True

    def _name(self, number: int) -> str:
        return f"ohm/{self._options.pool}/{number}"

    def _found(self, number: int) -> ActorHandle:
        options = self._options
        idle_s = options.idle_s if number >= options.fewest else None
        settings = to_json(
            {
                "run": options.run,
                "options": dict(options.run_options),
                "services": written(self._services),
                "digests": digests(options),
                "idle_s": idle_s,
                "pool": options.pool,
            }
        )
        placement: dict[str, Any] = {"scheduling_strategy": "SPREAD"}
        if options.labels:
            placement = {"label_selector": dict(options.labels)}
        if options.resources:
            placement["resources"] = dict(options.resources)
        if options.runtime_env:
            placement["runtime_env"] = dict(options.runtime_env)
        actor: ActorHandle = (
            self._ray.remote(RunnerActor)
            .options(
                name=self._name(number),
                namespace=NAMESPACE,
                lifetime="detached",
                get_if_exists=True,
                max_concurrency=MAX_CALLS,
                max_restarts=-1,
                max_task_retries=0,
                num_cpus=0,
                **placement,
            )
            .remote(settings)
        )
        return actor
