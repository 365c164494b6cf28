"""The runners of a pool as actors of Ray, and the calls to one."""

from __future__ import annotations

from importlib import import_module
from socket import create_connection
from typing import TYPE_CHECKING, Any, Final, Protocol

from anyio import fail_after, to_thread
from pydantic_core import to_json

from ohm_ray.about import digests
from ohm_ray.actor import RunnerActor, UnusableError
from ohm_ray.services import written
from ohm_subagents.plugin import ErrorCode, OhmError
from ohm_subagents.remote import RunnerLostError, RunnerUnusableError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ohm_ray.options import RayOptions
    from ohm_ray.runners import RunnerCalls
    from ohm_ray.services import Services

NAMESPACE: Final = "ohm"
MAX_CALLS: Final = 2000
"""Calls that an actor takes at once: each submitter keeps two in flight, and those of dead ones wait until they end."""
JOIN_S: Final = 5
"""Seconds in which somebody has to answer at the address of a cluster."""
HEAD_S: Final = 5
"""Seconds in which the head of the cluster has to find or start a runner."""
NO_HEAD: Final = "The head of the Ray cluster does not answer."


class ActorHandle(Protocol):
    """An actor of Ray; its methods are found by name."""


class ActorCalls:
    """Calls to one actor (`RunnerCalls`)."""

    def __init__(self, actor: ActorHandle) -> None:
        self._actor = actor

    async def call(self, method: str, *frames: bytes) -> bytes:
        """Call a method of `RunnerActor`."""
        errors = import_module("ray").exceptions
        try:
            answer: bytes = await getattr(self._actor, method).remote(*frames)
        except errors.RayTaskError as raised:
            kind = RunnerUnusableError if isinstance(raised.cause, UnusableError) else RunnerLostError
            raise kind(str(raised.cause)) from None
        except errors.ActorDiedError as died:
            raise RunnerLostError(_first_line(died)) from None
        except errors.RayError as why:  # it may be starting anew, which its next answer tells
            raise UndeliveredError(_first_line(why)) from None
        return answer


class Actors:
    """The runners of a pool, as detached actors with names: they outlive their submitters (`Runners`)."""

    def __init__(self, ray: ModuleType, options: RayOptions, services: Services = ()) -> None:
        self._ray = ray
        self._options = options
        self._services = services

    async def find(self, number: int) -> RunnerCalls:
        """Return the actor of this number, which is started if there is none."""
        return ActorCalls(await self._asked(self._found, number))

    async def has(self, number: int) -> bool:
        """Return True if there is an actor of this number."""
        try:
            await self._asked(lambda number: self._ray.get_actor(self._name(number), namespace=NAMESPACE), number)
        except ValueError:
            return False
        return True

    async def _asked(self, call: Callable[[int], ActorHandle], number: int) -> ActorHandle:
        """Ask the head of the cluster, if there is one: Ray would wait for it, in a thread that nobody can end."""

        def asked() -> ActorHandle:
            gone = silent(self._ray.get_runtime_context().gcs_address)
            if gone is not None:
                why = f"{NO_HEAD} {gone.message}"
                raise UndeliveredError(why)
            return call(number)

        try:
            with fail_after(HEAD_S):
                return await to_thread.run_sync(asked, abandon_on_cancel=True)
        except TimeoutError:
            raise UndeliveredError(NO_HEAD) from None
        except self._ray.exceptions.RayError as why:
            raise UndeliveredError(_first_line(why)) from None

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


def silent(address: str) -> OhmError | None:
    """Return an error if nothing listens at an address, which Ray would ask for minutes."""
    host, _, port = address.rpartition(":")
    if not host:
        return None
    try:
        create_connection((host.strip("[]"), int(port)), timeout=JOIN_S).close()
    except OSError as error:
        return unreachable(
            f"Nothing answers at '{address}': {error.strerror or error}.",
            "Start the Ray cluster there, or correct subagents.backends.ray.address.",
        )
    return None


def unreachable(message: str, advice: str = "") -> OhmError:
    """Return the error of a cluster that cannot be joined."""
    return OhmError(code=ErrorCode.RUNNER_LOST, message=message, advice=advice)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
