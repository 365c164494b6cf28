"""Processes that wait for a follow-up: a `send` finds its conversation where it was left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

import anyio

from ohm_subagents.backends.pi.call_gate import is_gated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anyio.abc import TaskGroup

    from ohm_subagents.backends.pi.rpc import RpcProcess
    from ohm_subagents.backends.pi.session import SessionFile
    from ohm_subagents.plugin import ModelPattern, Profile, RunRequest, SessionId
    from ohm_subagents.sandbox import Box

MOST: Final = 4
"""The most that may wait at once: an idle pi holds 110 to 170 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessKey:
    """Everything that is fixed when a `pi` starts: the session, and how it was called. It can serve no other run."""

    session_id: SessionId
    cwd: Path
    profile: Profile
    instructions: str
    model: ModelPattern | None
    tools: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    depth: int
    generation: int
    is_gated: bool
    box: Box | None

    @classmethod
    def of(cls, request: RunRequest, generation: int) -> Self:
        """Return the key of this run; `generation` counts the changes of the files in the configuration directory."""
        return cls(
            session_id=request.session_id,
            cwd=request.cwd,
            profile=request.profile,
            instructions=request.instructions,
            model=request.model,
            tools=request.tools,
            env=request.env,
            depth=request.depth,
            generation=generation,
            is_gated=is_gated(request),
            box=request.box,
        )


@dataclass(slots=True, kw_only=True, eq=False)
class IdleProcess:
    """A running pi, on its key, and the state of the conversation that it left."""

    process: RpcProcess
    key: ProcessKey
    session: SessionFile
    state: str | None = None
    expiry: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class ProcessPool:
    """At most `MOST` of them, each for `ttl_s` seconds; the one that has waited longest goes first."""

    def __init__(self, group: TaskGroup, *, ttl_s: float) -> None:
        self._group = group
        self._ttl_s = ttl_s
        self._waiting: list[IdleProcess] = []

    def take(self, key: ProcessKey, state: str | None) -> IdleProcess | None:
        """The process that left the conversation in this state, which waits no more; None if there is none alive."""
        for warm in self._waiting:
            if warm.key == key and warm.state == state:
                self._forget(warm)
                if not warm.process.child.has_ended:
                    return warm
                warm.process.child.stop()
                break
        return None

    def keep(self, warm: IdleProcess, *, state: str | None) -> None:
        """Let it wait for the next run of its session, which goes on from `state`; without one there is no next."""
        if self._ttl_s <= 0 or state is None:
            warm.process.child.stop()
            return
        for former in [one for one in self._waiting if one.key == warm.key]:
            self._drop(former)  # its conversation ends where another one goes on
        warm.state = state
        warm.expiry = anyio.CancelScope()
        warm.process.untidy()
        self._waiting.append(warm)
        self._group.start_soon(self._wait, warm)
        for oldest in self._waiting[:-MOST]:
            self._drop(oldest)

    async def _wait(self, warm: IdleProcess) -> None:
        with warm.expiry:
            await warm.process.tidy()
            await anyio.sleep(self._ttl_s)
            self._drop(warm)

    def _drop(self, warm: IdleProcess) -> None:
        self._forget(warm)
        warm.process.child.stop()

    def _forget(self, warm: IdleProcess) -> None:
        self._waiting.remove(warm)
        warm.expiry.cancel()
