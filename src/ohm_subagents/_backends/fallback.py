"""The whole switch from one backend to another: the second runs what the first could not even begin (004)."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeGuard, cast

import anyio
from typing_extensions import TypeVar

from ohm_subagents._plugins.interfaces import BackendSpec, Capability, Options
from ohm_subagents._plugins.pool import BackendPool
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import Checkpointed, DiagnosticRaised, RouteResolved
from ohm_subagents.contract.result import Err, Result
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection

    from ohm_subagents._plugins.gate import Gate, Grant, RequestNeed
    from ohm_subagents._plugins.interfaces import Backend, Inbox, OptionsT, RunOutput, RunRequest, Sink
    from ohm_subagents._plugins.pool import Log
    from ohm_subagents._plugins.suites import JsonObject
    from ohm_subagents.contract.events import RunEvent
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.profile import Profile

SecondT = TypeVar("SecondT", bound=Options, default=Options)
BOOTSTRAP: Final = frozenset(
    {
        ErrorCode.MODEL_MISSING,
        ErrorCode.MODEL_KEY_MISSING,
        ErrorCode.PROVIDER_NOT_INSTALLED,
        ErrorCode.BACKEND_FAILED,
    }
)
"""What says that a backend could not begin, as long as nothing has happened; the last one is 004's."""
_ABSENT: Final = frozenset({ErrorCode.COMMAND_UNUSABLE, ErrorCode.MODEL_MISSING, ErrorCode.MODEL_KEY_MISSING})
"""What says that the second has no program, or no model."""


def fallback_spec(
    first: BackendSpec[OptionsT], second: BackendSpec[SecondT], *, second_options: JsonObject, log: Log
) -> BackendSpec[OptionsT]:
    """`first`, which hands over to `second` what it cannot begin.

    Each is opened when a run needs it. `second_options` are as they are written, and looked at then.
    """

    @asynccontextmanager
    async def open_both(options: OptionsT) -> AsyncGenerator[Backend]:
        begun = BackendSpec(
            id=first.id,
            summary=first.summary,
            options=Options,
            open=lambda _none: first.open(options),
            capabilities=first.capabilities,
        )
        specs = {first.id: begun, second.id: cast("BackendSpec", second)}  # its options go through its own type
        async with (
            anyio.create_task_group() as group,
            BackendPool(group, specs, {second.id: second_options}, log) as pool,
        ):
            yield FallbackBackend(pool, first.id, second.id)

    return replace(first, open=open_both, capabilities=first.capabilities | {Capability.PREPARES})


class FallbackBackend:
    """Two backends of a pool: what the first cannot begin goes to the second, and a diagnostic says why.

    Never after the first has done anything: asked for a model request, taken a follow-up, told of more than its route.
    Where neither has a model, the first runs the last resort of the profile (`fallback_model`).
    """

    def __init__(self, pool: BackendPool, first: str, second: str) -> None:
        self._pool = pool
        self._first = first
        self._second = second
        self._tag = f"{second}\n"

    async def prepare(self, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        """Prepare the one that the run will come to, and whoever is asked before it."""
        first = await self._prepared(self._first, replace(profile, fallback_model=None), model)
        if not isinstance(first, Err) or first.err_value.code not in BOOTSTRAP:
            return first
        second = await self._prepared(self._second, profile, model)
        if first.err_value.code != ErrorCode.MODEL_MISSING or profile.fallback_model is None:
            return second
        return await self._prepared(self._first, profile, model)

    async def _prepared(self, backend_id: str, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        async with self._pool.backend(backend_id) as opened:
            return opened if isinstance(opened, Err) else await opened.ok_value.prepare(profile, model)

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        watch = _Watch(sink)
        result = await self._run(self._first, watch.seen(self._for_first(_without_resort(request))), watch)
        if not watch.could_not_begin(result, BOOTSTRAP):
            return result
        is_without_model = result.err_value.code == ErrorCode.MODEL_MISSING
        _hand_over(sink, self._first, self._second, result.err_value)
        sink.emit(RouteResolved(provider=UNAVAILABLE, model=UNAVAILABLE))  # the second tells its own, once it begins
        watch = _Watch(_Tagging(sink, self._tag))
        result = await self._run(self._second, watch.seen(self._for_second(request)), watch)
        resort = request.profile.fallback_model
        if not is_without_model or resort is None or not watch.could_not_begin(result, _ABSENT):
            return result
        _hand_over(sink, self._second, self._first, result.err_value, resort)
        sink.emit(RouteResolved(provider=UNAVAILABLE, model=UNAVAILABLE, runtime=self._first, route=self._first))
        return await self._run(self._first, self._for_first(request), sink)

    async def _run(self, backend_id: str, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        async with self._pool.backend(backend_id) as opened:
            return opened if isinstance(opened, Err) else await opened.ok_value.run(request, sink)

    def _for_first(self, request: RunRequest) -> RunRequest:
        return replace(request, checkpoint=None) if self._is_tagged(request) else request

    def _for_second(self, request: RunRequest) -> RunRequest:
        state = (request.checkpoint or "").removeprefix(self._tag) if self._is_tagged(request) else None
        return replace(request, checkpoint=state)

    def _is_tagged(self, request: RunRequest) -> bool:
        """Whether the second has written the checkpoint; what the first writes stays as it is."""
        return request.checkpoint is not None and request.checkpoint.startswith(self._tag)


def _without_resort(request: RunRequest) -> RunRequest:
    """Without the profile's last resort, which comes after the second backend (house 9.6)."""
    return replace(request, profile=replace(request.profile, fallback_model=None))


def _hand_over(sink: Sink, giver: str, taker: str, why: OhmError, model: ModelPattern | None = None) -> None:
    """Say that and why the other backend gets the task, and with which model if one is given."""
    with_what = "" if model is None else f" with {model}"
    told = f"{why.message.rstrip('.')}, so {taker} gets the task{with_what} instead of {giver}."
    sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="fallback", message=told)))


class _Tagging:
    """Marks the checkpoints that go through, so that only who wrote one is given it."""

    def __init__(self, sink: Sink, tag: str) -> None:
        self._sink = sink
        self._tag = tag

    def emit(self, event: RunEvent) -> None:
        self._sink.emit(Checkpointed(state=self._tag + event.state) if isinstance(event, Checkpointed) else event)


class _Watch:
    """The sink of a backend: notices whether that does anything."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.has_acted = False

    def emit(self, event: RunEvent) -> None:
        self.has_acted |= not isinstance(event, RouteResolved | DiagnosticRaised)
        self._sink.emit(event)

    def seen(self, request: RunRequest) -> RunRequest:
        """The request, so that what the backend asks for and takes is noticed too."""
        return replace(
            request,
            gate=request.gate and _WatchedGate(request.gate, self),
            inbox=request.inbox and _WatchedInbox(request.inbox, self),
        )

    def could_not_begin(
        self, result: Result[RunOutput, OhmError], codes: Collection[ErrorCode]
    ) -> TypeGuard[Err[OhmError]]:
        """Whether the backend failed with one of these before it did anything."""
        return isinstance(result, Err) and not self.has_acted and result.err_value.code in codes


class _WatchedGate:
    def __init__(self, gate: Gate, watch: _Watch) -> None:
        self._gate = gate
        self._watch = watch

    def request(self, need: RequestNeed) -> AbstractAsyncContextManager[Result[Grant, OhmError]]:
        self._watch.has_acted = True
        return self._gate.request(need)

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        return self._gate.unpriced(need)

    def throttled(self, provider: str, *, attempt: int, retry_after_s: float | None) -> bool:
        return self._gate.throttled(provider, attempt=attempt, retry_after_s=retry_after_s)


class _WatchedInbox:
    def __init__(self, inbox: Inbox, watch: _Watch) -> None:
        self._inbox = inbox
        self._watch = watch

    def steered_by(
        self, steer: Callable[[str], bool], finish: Callable[[str], bool] | None = None
    ) -> AbstractContextManager[None]:
        def taken(prompt: str) -> bool:
            is_taken = steer(prompt)
            self._watch.has_acted |= is_taken
            return is_taken

        return self._inbox.steered_by(taken, finish)
