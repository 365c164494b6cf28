"""Open backends: of an `Ohm`, or of a backend that is made of others."""

from __future__ import annotations

from collections import defaultdict
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Self, cast

import anyio

from ohm_subagents._concurrency.faults import error_line
from ohm_subagents._concurrency.leavable_group import GRACE_S
from ohm_subagents._concurrency.shared_resource import CLOSE_GRACE_S, SharedResource
from ohm_subagents._plugins.backends.agent_options import WithoutAgentOptions
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents._plugins.backends.options import validated
from ohm_subagents._plugins.backends.preparation import PreparingBackend, Unprepared, not_ready
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from anyio.abc import TaskGroup

    from ohm_subagents._plugins.backends.context import Log
    from ohm_subagents._plugins.backends.interface import Backend, BackendSpec, Options
    from ohm_subagents._plugins.suites.tool import JsonObject
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.profile import Profile

Opened = Result[PreparingBackend, OhmError]


class _Host(SharedResource[PreparingBackend]):
    """A backend with its runs; once it is retired, its last run lets it close."""

    def __init__(self, spec: BackendSpec, options: Options, logger: Log) -> None:
        super().__init__()
        self.spec = spec
        self.options = options
        self._logger = logger
        self._runs = 0
        self._is_retired = False

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Opened]:
        async with self.spec.open(self.options) as backend:
            yield Ok(_equal(backend, self.spec))

    def failed(self, error: Exception) -> OhmError:
        verb = "broke down" if self.is_open else "failed to open"
        self._logger.exception("backend.failed", backend=self.spec.id, reason=verb)
        message = f"Backend '{self.spec.id}' {verb}: {error_line(_cause(error))}."
        return OhmError(code=ErrorCode.BACKEND_FAILED, message=message)

    def late(self) -> OhmError:
        return not_ready(self.spec.id)

    def unclosed(self) -> None:
        self._logger.error("backend.failed", backend=self.spec.id, reason=f"not closed in {CLOSE_GRACE_S} s")

    def join(self) -> None:
        """Stay open for a run."""
        self._runs += 1

    def leave(self) -> None:
        """Give the place back: the run is over."""
        self._runs -= 1
        self._close_if_done()

    def retire(self) -> None:
        """Close as soon as there is no run, and begin none."""
        self._is_retired = True
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self._is_retired and not self._runs:
            self.begin_close()

    async def close(self) -> bool:
        if await super().close():
            return True
        reason = f"it did not end within {self.patience_s:.0f} s"
        self._logger.error("backend.left", backend=self.spec.id, reason=reason)
        return False


class Lease:
    """A backend of a pool for one run: once `backend` has given it, it stays open until this is left."""

    __slots__ = ("_backend_id", "_host", "_pool")

    def __init__(self, pool: BackendPool, backend_id: str) -> None:
        self._pool = pool
        self._backend_id = backend_id
        self._host: _Host | None = None

    def at_once(self) -> Opened | None:
        """Return the backend if it is open and has nothing to prepare: its run waits for nothing that could hang."""
        self._host = self._pool.joined_at_once(self._backend_id)
        return None if self._host is None else self._host.opened

    async def backend(self) -> Opened:
        """Return the backend, open, or why there is none; the next task tries again after a failure."""
        opened, self._host = await self._pool.joined(self._backend_id)
        return opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._host is not None:
            self._host.leave()


class BackendPool:
    """Opens a backend on first use, in a task of its own, and closes all of them in reverse order."""

    def __init__(
        self,
        group: TaskGroup,
        specs: Mapping[str, BackendSpec],
        options: Mapping[str, JsonObject],
        logger: Log,
    ) -> None:
        self._logger = logger
        self._group = group
        self._specs = specs
        self._options = options
        self._hosts: dict[str, _Host] = {}
        self._retired: list[_Host] = []
        self.grace_s = GRACE_S
        """The seconds that the tasks of its backends have to end once it is closed; 0 if one is left to itself."""
        self._turns: defaultdict[str, anyio.Lock] = defaultdict(partial(anyio.Lock, fast_acquire=True))

    def lease(self, backend_id: str) -> Lease:
        """Return a place for one run at the backend."""
        return Lease(self, backend_id)

    async def prepared(self, backend_id: str, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        """Open the backend, and let it prepare what a run of this profile with this model would wait for."""
        with self.lease(backend_id) as lease:
            opened = await lease.backend()
            return opened if isinstance(opened, Err) else await opened.ok_value.prepare(profile, model)

    def joined_at_once(self, backend_id: str) -> _Host | None:
        """Return the host of a backend that is open and has nothing to prepare, unless somebody waits for it."""
        host = self._hosts.get(backend_id)
        if host is None or not isinstance(host.opened, Ok) or Capability.PREPARES in host.spec.capabilities:
            return None
        if self._turns[backend_id].locked():
            return None
        host.join()
        return host

    async def joined(self, backend_id: str) -> tuple[Opened, _Host | None]:
        """Return the backend, and the host to leave when the run is over."""
        async with self._turns[backend_id]:  # first come, first served: runs begin in the order of their tasks
            found = self._host(backend_id)
            if isinstance(found, Err):
                return found, None
            host = found.ok_value
            host.join()
            try:
                if host.opened is None:
                    await host.ready.wait()
            except BaseException:
                host.leave()
                raise
            if not isinstance(host.opened, Ok) and self._hosts.get(backend_id) is host:
                del self._hosts[backend_id]
        return host.opened or Err(_closed(backend_id)), host

    def _host(self, backend_id: str) -> Result[_Host, OhmError]:
        spec = self._specs.get(backend_id)
        if spec is None:
            return Err(unsupported(backend_id, self._specs))
        host = self._hosts.get(backend_id)
        if host is not None and host.is_overdue:
            self._retired.append(self._hosts.pop(backend_id))
            host = None
        if host is None:
            options = validated(spec, self._options)
            if isinstance(options, Err):
                return options
            host = self._hosts[backend_id] = _Host(spec, options.ok_value, self._logger)
            self._group.start_soon(self._serve, host)
        return Ok(host)

    def replace(self, specs: Mapping[str, BackendSpec], options: Mapping[str, JsonObject]) -> None:
        """Offer other backends from now on. One that changed stays open for the runs that it has."""
        self._specs, self._options = specs, options
        for backend_id, host in tuple(self._hosts.items()):
            if specs.get(backend_id) != host.spec or validated(host.spec, options) != Ok(host.options):
                self._retired.append(self._hosts.pop(backend_id))
                host.retire()

    async def _serve(self, host: _Host) -> None:
        await host.serve()
        if host in self._retired:
            self._retired.remove(host)
        elif not host.is_open and self._hosts.get(host.spec.id) is host:  # even if no run has waited for its failure
            del self._hosts[host.spec.id]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        """Close every backend, the newest first, even when the owner is being cancelled."""
        with anyio.CancelScope(shield=True):
            for host in reversed((*self._retired, *self._hosts.values())):
                if not await host.close():
                    self.grace_s = 0.0


def _equal(backend: Backend, spec: BackendSpec) -> PreparingBackend:
    """Return the backend with wrappers for what it does not declare, so that all backends can do the same."""
    declared = spec.capabilities
    prepares = cast("PreparingBackend", backend) if Capability.PREPARES in declared else Unprepared(backend)
    return prepares if Capability.AGENT_OPTIONS in declared else WithoutAgentOptions(prepares, spec.id)


def _closed(backend_id: str) -> OhmError:
    return OhmError(code=ErrorCode.TASK_ABORTED, message=f"Backend '{backend_id}' was closed.")


def unsupported(backend_id: str, specs: Mapping[str, BackendSpec]) -> OhmError:
    """Return the error of a backend that no plugin offers."""
    from ohm_subagents._plugins.installation import install_hint  # noqa: PLC0415  only an error needs it

    hint = install_hint(backend_id) or did_you_mean(backend_id, specs)
    return OhmError(
        code=ErrorCode.UNSUPPORTED_BACKEND,
        message=f"No plugin offers the subagent backend '{backend_id}'.",
        advice=f"{hint}Set it where it is named, by the call (--backend), the subagent's "
        f"'backend' or subagentBackend, to one of: {', '.join(sorted(specs))}.",
    )


def _cause(error: Exception) -> Exception:
    """Return the error inside the group that a task group wraps around it; several errors stay a group."""
    while isinstance(error, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", error)
        if len(group.exceptions) > 1:
            return group
        error = next(iter(group.exceptions))
    return error
