"""The switch from one backend to another (`sdkFallbackToCli`): the second runs what the first could not begin."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, TypeGuard, cast

import anyio
from typing_extensions import TypeVar

from ohm_subagents._plugins.backends.interface import BackendSpec, Capability, Options, OptionsT
from ohm_subagents._plugins.backends.pool import BackendPool
from ohm_subagents._plugins.backends.request import Inbox
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.effect import effect_of
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import Checkpointed, DiagnosticRaised
from ohm_subagents.contract.model_route import RouteResolved
from ohm_subagents.contract.result import Err, Result
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.backends.context import Log
    from ohm_subagents._plugins.backends.gate import Gate, Grant, RequestNeed
    from ohm_subagents._plugins.backends.interface import Backend, RunOutput
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents._plugins.suites.tool import JsonObject
    from ohm_subagents.contract.events import RunEvent
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.profile import Decision, Profile

INTERACTIVE_SDK: Final = "interactive-sdk"
"""The backend that runs a subagent in this process."""
INTERACTIVE_SHELL: Final = "interactive-shell"
"""The backend that runs a subagent as a nested `pi`."""
T = TypeVar("T")
SecondT = TypeVar("SecondT", bound=Options, default=Options)
BOOTSTRAP: Final = frozenset(
    {
        ErrorCode.MODEL_MISSING,
        ErrorCode.MODEL_KEY_MISSING,
        ErrorCode.MODEL_UNKNOWN,
        ErrorCode.PROVIDER_NOT_INSTALLED,
        ErrorCode.BACKEND_FAILED,
    }
)
"""Codes of a run that failed before it had any effect: the backend could not begin."""
UNANSWERED: Final = frozenset(
    {
        ErrorCode.MODEL_UNKNOWN,
        ErrorCode.PROVIDER_AUTHENTICATION,
        ErrorCode.PROVIDER_CONNECTION_FAILED,
        ErrorCode.PROVIDER_UNAVAILABLE,
    }
)
"""Codes of a run that failed before it had any effect: the model was asked and gave no answer."""
_ABSENT: Final = frozenset(
    {
        ErrorCode.COMMAND_UNUSABLE,
        ErrorCode.MODEL_MISSING,
        ErrorCode.MODEL_KEY_MISSING,
        ErrorCode.MODEL_UNKNOWN,
    }
)
"""Codes of the second backend: it has no program, or no model."""


def with_fallback(
    backends: Mapping[str, BackendSpec], options: Mapping[str, JsonObject], log: Log
) -> Mapping[str, BackendSpec]:
    """Return the backends, of which `interactive-sdk` hands over to `interactive-shell` what it cannot begin.

    `options` are those of all backends, as they are written. Nothing changes unless both are there.
    """
    first, second = backends.get(INTERACTIVE_SDK), backends.get(INTERACTIVE_SHELL)
    if first is None or second is None:
        return backends
    switch = fallback_spec(first, second, second_options=options.get(second.id, {}), log=log)
    return MappingProxyType({**backends, first.id: switch})


def fallback_spec(
    first: BackendSpec[OptionsT], second: BackendSpec[SecondT], *, second_options: JsonObject, log: Log
) -> BackendSpec[OptionsT]:
    """Return `first`, which hands over to `second` what it cannot begin.

    Each is opened when a run needs it. `second_options` are as they are written, and looked at then.
    """
    switch = _Switch(first, cast("BackendSpec", second), second_options, log)  # its options go through its own type
    return replace(first, open=switch, capabilities=first.capabilities | {Capability.PREPARES})


@dataclass(frozen=True, slots=True)
class _Switch(Generic[OptionsT]):
    """Opens both backends; equal to another of equal backends, so that a reconfiguration leaves them open."""

    first: BackendSpec[OptionsT]
    second: BackendSpec
    second_options: JsonObject
    log: Log = field(compare=False)

    @asynccontextmanager
    async def __call__(self, options: OptionsT) -> AsyncGenerator[Backend]:
        first, second = self.first, self.second
        begun = BackendSpec(
            id=first.id,
            summary=first.summary,
            options=Options,
            open=lambda _none: first.open(options),
            capabilities=first.capabilities,
        )
        specs = {first.id: begun, second.id: second}
        async with (
            anyio.create_task_group() as group,
            BackendPool(group, specs, {second.id: self.second_options}, self.log) as pool,
        ):
            yield FallbackBackend(pool, first.id, second.id)


class FallbackBackend:
    """Two backends of a pool: what the first cannot begin goes to the second, and a diagnostic says why.

    Never after the first has done anything: been answered by a model, taken a follow-up, reported more than its route.
    Where neither has a model, the first runs the last resort of the profile (`fallback_model`).
    """

    def __init__(self, pool: BackendPool, first: str, second: str) -> None:
        self._pool = pool
        self._first = first
        self._second = second
        self._tag = f"{second}\n"

    async def prepare(self, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        """Prepare the backend that will run it, and those that are asked before."""
        first = await self._pool.prepared(self._first, replace(profile, fallback_model=None), model)
        if not isinstance(first, Err) or first.err_value.code not in BOOTSTRAP | UNANSWERED:
            return first
        second = await self._pool.prepared(self._second, profile, model)
        if first.err_value.code != ErrorCode.MODEL_MISSING or profile.fallback_model is None:
            return self._of_both(first, second) if _is_absent(second) else second
        return await self._pool.prepared(self._first, profile, model)

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        watch = _Watch(sink)
        first = await self._run(self._first, watch.seen(self._for_first(_without_resort(request))), watch)
        if not watch.could_not_begin(first):
            return first
        is_without_model = first.err_value.code == ErrorCode.MODEL_MISSING
        _hand_over(sink, self._first, self._second, first.err_value)
        sink.emit(_nowhere())  # the second tells its own way, once it begins
        other = _Watch(_Tagging(sink, self._tag))
        second = await self._run(self._second, other.seen(self._for_second(request)), other)
        if other.has_acted or other.has_asked or not _is_absent(second):
            return second
        resort = request.profile.fallback_model
        if not is_without_model or resort is None:
            sink.emit(_nowhere(runtime=watch.runtime or self._first, route=watch.route or self._first))
            return self._of_both(first, second)
        _hand_over(sink, self._second, self._first, second.err_value, resort)
        sink.emit(_nowhere(runtime=self._first, route=self._first))
        return await self._run(self._first, self._for_first(request), sink)

    def _of_both(self, first: Err[OhmError], second: Err[OhmError]) -> Err[OhmError]:
        """Return the error of the first, which has to be repaired; its advice adds why the second cannot help."""
        why, other = first.err_value, second.err_value
        advice = f"{why.advice} {self._second} could not run it either: {other}".strip()
        return Err(replace(why, advice=advice))

    async def _run(self, backend_id: str, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        with self._pool.lease(backend_id) as lease:
            opened = await lease.backend()
            return opened if isinstance(opened, Err) else await opened.ok_value.run(request, sink)

    def _for_first(self, request: RunRequest) -> RunRequest:
        return replace(request, checkpoint=None) if self._is_tagged(request) else request

    def _for_second(self, request: RunRequest) -> RunRequest:
        state = (request.checkpoint or "").removeprefix(self._tag) if self._is_tagged(request) else None
        return replace(request, checkpoint=state)

    def _is_tagged(self, request: RunRequest) -> bool:
        """Return True if the second wrote the checkpoint; checkpoints of the first have no tag."""
        return request.checkpoint is not None and request.checkpoint.startswith(self._tag)


def _without_resort(request: RunRequest) -> RunRequest:
    """Return the request without the profile's last resort, which comes after the second backend."""
    profile = replace(request.profile, fallback_model=None)
    return replace(request, spec=replace(request.spec, profile=profile))


def _is_absent(result: Result[T, OhmError]) -> TypeGuard[Err[OhmError]]:
    """Return True if the backend has no program, or no model."""
    return isinstance(result, Err) and result.err_value.code in _ABSENT


def _nowhere(*, runtime: str = "", route: str = "") -> RouteResolved:
    """Return a route without a model; an empty `runtime` or `route` leaves that of the task as it is."""
    return RouteResolved(provider=UNAVAILABLE, model=UNAVAILABLE, runtime=runtime, route=route)


def _hand_over(sink: Sink, giver: str, taker: str, why: OhmError, model: ModelPattern | None = None) -> None:
    """Report that `taker` gets the task instead of `giver`, why, and with which model if one is given."""
    with_what = "" if model is None else f" with {model}"
    message = f"{why.message.rstrip('.')}, so {taker} gets the task{with_what} instead of {giver}."
    sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="fallback", message=message)))


class _Tagging:
    """Tags the checkpoints that go through, so that only the backend that wrote one gets it back."""

    def __init__(self, sink: Sink, tag: str) -> None:
        self._sink = sink
        self._tag = tag

    def emit(self, event: RunEvent) -> None:
        self._sink.emit(Checkpointed(state=self._tag + event.state) if isinstance(event, Checkpointed) else event)


class _Watch:
    """The sink of a backend: records if the backend has had any effect, and if it asked for a model request."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.has_acted = False
        self.has_asked = False
        self.runtime = ""
        self.route = ""

    def emit(self, event: RunEvent) -> None:
        self.has_acted |= effect_of(event) != "none"
        if isinstance(event, RouteResolved):
            self.runtime, self.route = event.runtime or self.runtime, event.route or self.route
        self._sink.emit(event)

    def seen(self, request: RunRequest) -> RunRequest:
        """Return the request with a gate and an inbox that record their use."""
        return replace(
            request,
            gate=request.gate and _WatchedGate(request.gate, self),
            inbox=request.inbox and _WatchedInbox(request.inbox, self),
        )

    def could_not_begin(self, result: Result[RunOutput, OhmError]) -> TypeGuard[Err[OhmError]]:
        """Return True if the run failed before it had any effect: it could not ask a model, or got no answer."""
        codes = UNANSWERED if self.has_asked else BOOTSTRAP | UNANSWERED
        return isinstance(result, Err) and not self.has_acted and result.err_value.code in codes


class _WatchedGate:
    def __init__(self, gate: Gate, watch: _Watch) -> None:
        self._gate, self._watch = gate, watch

    def request(self, need: RequestNeed) -> AbstractAsyncContextManager[Result[Grant, OhmError]]:
        self._watch.has_asked = True
        return self._gate.request(need)

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        return self._gate.unpriced(need)

    async def throttled(
        self, provider: str, *, attempt: int, retry_after_s: float | None, status: int | None = None
    ) -> bool:
        return await self._gate.throttled(provider, attempt=attempt, retry_after_s=retry_after_s, status=status)

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str = "",
        on_wait: Callable[[], None] | None = None,
        judged: Decision | None = None,
    ) -> str | None:
        return await self._gate.tool(name, arguments, call_id=call_id, on_wait=on_wait, judged=judged)


class _WatchedInbox(Inbox):
    def __init__(self, inbox: Inbox, watch: _Watch) -> None:
        self._inbox, self._watch = inbox, watch

    def offered_to(
        self, offer: Callable[[str, Callable[[bool], None]], None], finish: Callable[[str], bool] | None = None
    ) -> AbstractContextManager[None]:
        def offered(prompt: str, answer: Callable[[bool], None]) -> None:
            def answered(is_taken: bool) -> None:  # noqa: FBT001  an answer is yes or no
                self._watch.has_acted |= is_taken
                answer(is_taken)

            offer(prompt, answered)

        return self._inbox.offered_to(offered, finish)
