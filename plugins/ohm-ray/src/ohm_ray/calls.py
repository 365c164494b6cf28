"""Calls to actors of Ray, and to the head of the cluster that knows them."""

from __future__ import annotations

from importlib import import_module
from socket import create_connection
from typing import TYPE_CHECKING, Final, Protocol

from anyio import fail_after, to_thread

from ohm_subagents.plugin import ErrorCode, OhmError
from ohm_subagents.remote import RunnerLostError, RunnerUnusableError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

NAMESPACE: Final = "ohm"
JOIN_S: Final = 5
"""Seconds in which somebody has to answer at the address of a cluster."""
HEAD_S: Final = 5
"""Seconds in which the head of the cluster has to find or start an actor."""
NO_HEAD: Final = "The head of the Ray cluster does not answer."


class UnusableError(Exception):
    """The runner cannot open its backend. The text says why."""


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


async def asked(ray: ModuleType, call: Callable[[], ActorHandle]) -> ActorHandle:
    """Ask the head of the cluster, if there is one: Ray would wait for it, in a thread that nobody can end."""

    def of_head() -> ActorHandle:
        gone = silent(ray.get_runtime_context().gcs_address)
        if gone is not None:
            why = f"{NO_HEAD} {gone.message}"
            raise UndeliveredError(why)
        return call()

    try:
        with fail_after(HEAD_S):
            return await to_thread.run_sync(of_head, abandon_on_cancel=True)
    except TimeoutError:
        raise UndeliveredError(NO_HEAD) from None
    except ray.exceptions.RayError as why:
        raise UndeliveredError(_first_line(why)) from None


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
