"""The ledger of a pool: an actor of Ray that grants model requests while a program is gone."""

from __future__ import annotations

import asyncio  # noqa: TID251  an actor of Ray runs on it, and nothing but a task of its own outlives a call
import time
from importlib import import_module
from threading import Timer
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json, to_json

from ohm_ray.actor import end_actor
from ohm_subagents.remote import LedgerService

if TYPE_CHECKING:
    from types import ModuleType

IDLE_S: Final = 5.0
"""Seconds without a run after which it ends."""


class ClusterState:
    """Keeps the state with the head of the cluster, where it outlives the actor and its node (`KeptState`)."""

    def __init__(self, key: str) -> None:
        """`key` names it in the cluster."""
        self._key = key.encode()

    async def load(self) -> bytes | None:
        """Return what was saved last; None if nothing was."""
        kept: bytes | None = await asyncio.to_thread(_store()._internal_kv_get, self._key)  # noqa: SLF001  Ray's own
        return kept

    async def save(self, state: bytes) -> None:
        """Keep this from now on."""
        await asyncio.to_thread(_store()._internal_kv_put, self._key, state, True)  # noqa: SLF001, FBT003  Ray's own


class LedgerActor:
    """Hosts one `LedgerService`, and ends when it has had no run for some time."""

    def __init__(self, name: str, idle_s: float) -> None:
        """Take the name of the actor, under which its state is kept; without a call for `idle_s` seconds it ends.

        Ray starts one that was killed anew, and who needed it may be gone: a thread ends one that nobody calls.
        """
        self._idle_s = idle_s
        self._uncalled = Timer(idle_s, end_actor)
        self._uncalled.daemon = True
        self._uncalled.start()
        self._service = LedgerService(ClusterState(name), lambda: time.time_ns() // 1_000_000)
        self._ending: asyncio.Task[None] | None = None

    async def post(self, frame: bytes) -> bytes:
        """Answer `LedgerService.post`."""
        if self._ending is None:
            self._uncalled.cancel()
            self._ending = asyncio.create_task(self._end())
        return to_json(await self._service.post(from_json(frame)))

    async def _end(self) -> None:
        await self._service.close_unused(IDLE_S, idle_s=self._idle_s)
        await asyncio.to_thread(end_actor)


def _store() -> ModuleType:
    return import_module("ray.experimental.internal_kv")
