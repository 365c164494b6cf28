"""The ledger of a pool as programs and runners find it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic_core import from_json, to_json

from ohm_ray.calls import NAMESPACE, ActorCalls, asked
from ohm_subagents.remote import LEDGER_IDLE_S, RunnerLostError, UndeliveredError

if TYPE_CHECKING:
    from types import ModuleType

    from ohm_ray.calls import ActorHandle
    from ohm_subagents.contract.wire import WireObject
    from ohm_subagents.remote import LedgerTransport

MAX_ASKS: Final = 20_000
"""Calls that it takes at once: each run that waits for a grant keeps one in flight."""

AT_HEAD: Final = {"node:__internal_head__": 0.001}
"""The place of it: what it keeps is with the head of the cluster, so that no other node costs any of it."""


class Ledgers:
    """Finds the ledger of a pool, a named detached actor, and calls it (`LedgerLookup`, `LedgerTransport`)."""

    def __init__(self, ray: ModuleType, pool: str, *, idle_s: float = LEDGER_IDLE_S) -> None:
        """One that is begun here ends after `idle_s` seconds without a call."""
        self._ray = ray
        self._name = f"ohm/{pool}/ledger"
        self._idle_s = idle_s
        self._calls: ActorCalls | None = None

    async def found(self, *, is_begun: bool) -> LedgerTransport | None:
        """Return the ledger; None if there is none, and it is not to be begun."""
        if self._calls is None:
            try:
                self._calls = ActorCalls(await asked(self._ray, self._begun if is_begun else self._there))
            except ValueError:
                return None
        return self

    async def post(self, frame: WireObject) -> WireObject:
        """Hand over a message, and return its answer; one that has ended is looked for anew."""
        calls = self._calls
        try:
            if calls is None:
                raise UndeliveredError
            answer: WireObject = from_json(await calls.call("post", to_json(frame)))
        except RunnerLostError as lost:
            self._calls = None
            raise UndeliveredError(str(lost)) from None
        return answer

    def _there(self) -> ActorHandle:
        found: ActorHandle = self._ray.get_actor(self._name, namespace=NAMESPACE)
        return found

    def _begun(self) -> ActorHandle:
        from ohm_ray.ledger_actor import LedgerActor  # noqa: PLC0415  the module of an actor, which looks for ledgers

        begun: ActorHandle = (
            self._ray.remote(LedgerActor)
            .options(
                name=self._name,
                namespace=NAMESPACE,
                lifetime="detached",
                get_if_exists=True,
                max_concurrency=MAX_ASKS,
                max_restarts=-1,
                max_task_retries=0,
                num_cpus=0,
                resources=AT_HEAD,
            )
            .remote(self._name, self._idle_s)
        )
        return begun
