"""Routed runs: what one model could not do goes to the next of its route, from where it stopped."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._concurrency.shared_resource import READY_WITHIN_S
from ohm_subagents._orchestrator.run.feed import RecordedFeed
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.effect import effect_of
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import Checkpointed, DiagnosticRaised, FileChanged, ToolEnded, ToolStarted
from ohm_subagents.contract.model_route import ModelSelected, failure_class
from ohm_subagents.contract.result import Err, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from contextlib import AbstractAsyncContextManager

    from ohm_subagents._orchestrator.run.cool_downs import CoolDowns
    from ohm_subagents._orchestrator.run.guard import RunGuard
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents._plugins.backends.gate import Gate, Grant, RequestNeed
    from ohm_subagents._plugins.backends.interface import RunOutput
    from ohm_subagents._plugins.backends.preparation import PreparingBackend
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.contract.events import RunEvent
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.model_route import ModelRoute

GO_ON: Final = (
    "You take over from another model, which could not go on. Continue where it stopped: what the conversation shows "
    "as done is done, and must not be done again. Then give the whole answer."
)
"""The prompt of a run that continues what a model has begun."""
_PASSED_ON: Final = frozenset(
    {
        ErrorCode.MODEL_UNKNOWN,
        ErrorCode.MODEL_KEY_MISSING,
        ErrorCode.PROVIDER_NOT_INSTALLED,
        ErrorCode.PROVIDER_REQUEST_REJECTED,
        ErrorCode.CONTEXT_WINDOW_EXCEEDED,
        ErrorCode.BUDGET_UNENFORCEABLE,
    }
)
"""Failures of a model that was asked in place of another, after which the next is asked all the same."""


class RoutedBackend:
    """A backend for one run, which asks the models of a route one after the other until one of them can do the work.

    What a model has said is kept. A tool that may have changed something is never called again for it: the next model
    continues from the checkpoint, and where there is none, the failure stands.
    """

    def __init__(
        self,
        backend: PreparingBackend,
        route: ModelRoute,
        cool_downs: CoolDowns,
        *,
        record: TaskRecord,
        guard: RunGuard,
    ) -> None:
        self._backend = backend
        self._route = route
        self._cool_downs = cool_downs
        self._record = record
        self._guard = guard
        self._has_resorted = False

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run the prompt on the first model that is not cooling down, then on the next ones.

        Where all cool down, the one that is free first is asked, once in a run: it may answer by now.
        """
        model, asked = self._cool_downs.first(self._route.models), request
        self._has_resorted = self._is_resting(model)
        failed: list[tuple[ModelPattern, OhmError]] = []
        self._select(model, self._first_reason(model))
        while True:
            attempt = _Attempt(sink, begins_after=len(self._record.task.runs[-1].follow_ups))
            result = await self._backend.run(_on(model, asked, number=len(failed) + 1), attempt)
            error = _error_in(result)
            if error is None:
                self._cool_downs.end(model)
                return result
            if self._record.task.activity.finalized is not None:  # it has answered, and failed after that
                return result
            why = failure_class(error)
            if why is not None and why in self._cool_downs.classes:
                self._cool_downs.begin(model, why)
            elif not (failed and error.code in _PASSED_ON):
                return Err(self._of_all(model, error, failed))
            following = self._next([*(one for one, _ in failed), model])
            if following is None:
                return Err(self._of_all(model, error, failed))
            attempt.close_calls()
            again = attempt.continued(asked, self._record.task.runs[-1].follow_ups)
            if again is None:
                self._tell(
                    f"{following} is not asked instead of {model}: the run cannot be resumed after {attempt.effect}."
                )
                return Err(self._of_all(model, error, failed))
            failed.append((model, error))
            is_resumed = again.checkpoint is not request.checkpoint
            how = "goes on from where" if is_resumed else "is asked instead of"
            told = f"{following} {how} {model}{' stopped' if is_resumed else ''}: {error.message}"
            self._tell(f"{told} No other is left that does not cool down." if self._is_resting(following) else told)
            self._select(following, f"{why or error.code} of {_named(model)}")
            model, asked = following, again
            await self._prepare(request, model)

    def _first_reason(self, model: ModelPattern) -> str:
        wanted, *others = self._route.models
        if self._has_resorted and others:
            return "last resort: all models cool down"
        return self._route.why if model == wanted else f"cool-down of {_named(wanted)}"

    def _is_resting(self, model: ModelPattern) -> bool:
        return self._cool_downs.reason(model) is not None

    def _next(self, asked: Sequence[ModelPattern]) -> ModelPattern | None:
        """Return the next model of the route: one that does not cool down, or once the one that is free first."""
        left = [one for one in self._route.models if one not in asked]
        following = self._cool_downs.first(left) if left else None
        if following is None or not self._is_resting(following):
            return following
        if self._has_resorted:
            return None
        self._has_resorted = True
        return following

    def _of_all(
        self, model: ModelPattern, error: OhmError, failed: Sequence[tuple[ModelPattern, OhmError]]
    ) -> OhmError:
        """Return the last error; its advice adds how the models before it failed, and which ones were not asked."""
        asked = [*(one for one, _ in failed), model]
        before = [f"{one} failed before it: {its.message}" for one, its in failed]
        resting = [
            f"{one} was not asked: it cools down after a failure of the class '{why}', for "
            f"{ceil(self._cool_downs.left_s(one))} s more."
            for one in self._route.models
            if one not in asked and (why := self._cool_downs.reason(one)) is not None
        ]
        is_retryable = error.retryable or bool(resting) or any(one.retryable for _, one in failed)
        return replace(error, advice=" ".join((error.advice, *before, *resting)).strip(), retryable=is_retryable)

    def _select(self, model: ModelPattern, why: str) -> None:
        self._record.add(ModelSelected(model=f"{model}", why=why))

    def _tell(self, message: str) -> None:
        self._record.add(DiagnosticRaised(diagnostic=Diagnostic(subject="models", message=message)))

    async def _prepare(self, request: RunRequest, model: ModelPattern) -> None:
        """Prepare the next model, while no clock counts; what cannot be made, its run will say."""
        self._guard.pause()
        try:
            with anyio.move_on_after(READY_WITHIN_S):
                await self._backend.prepare(request.profile, model)
        finally:
            self._guard.resume()


class _Attempt:
    """The sink of one model's run: records what cannot be done twice, and where the run can be continued."""

    def __init__(self, sink: Sink, *, begins_after: int) -> None:
        self._sink = sink
        self._begins_after = begins_after
        self._open: dict[str, str] = {}
        self._has_called = False
        self._checkpoint: str | None = None
        self._is_covered = True
        self.effect = ""
        """The first thing that may have changed something: a tool, or a change that none is known for."""

    def emit(self, event: RunEvent) -> None:
        deed: str = event.kind
        match event:
            case ToolStarted(call_id=call_id, tool=tool):
                self._has_called = True
                self._open[call_id] = deed = tool
            case ToolEnded(call_id=call_id):
                self._open.pop(call_id, None)
            case FileChanged(path=path):
                deed = f"a change of '{path}'"
            case Checkpointed(state=state):
                self._checkpoint, self._is_covered = state, True
            case _:
                pass
        if effect_of(event) == "deed":
            self.effect, self._is_covered = self.effect or deed, False
        self._sink.emit(event)

    def close_calls(self) -> None:
        """End the calls that the model has left open."""
        for call_id, tool in tuple(self._open.items()):
            self.emit(ToolEnded(call_id=call_id, tool=tool, status="interrupted", text="interrupted"))

    def continued(self, request: RunRequest, follow_ups: Sequence[str]) -> RunRequest | None:
        """Return the request for the next model; None if it would do again what may have had an effect.

        It continues from the checkpoint if tools have run, and it has come after those with an effect; else it begins
        anew as `request` did. `follow_ups` are those of the whole run: what this model has taken is told again.
        """
        told = follow_ups[self._begins_after :]
        if self._has_called and self._checkpoint is not None and self._is_covered:
            return replace(request, prompt="\n\n".join((GO_ON, *told)), checkpoint=self._checkpoint)
        return None if self.effect else replace(request, prompt="\n\n".join((request.prompt, *told)))


class _StrictGate:
    """The gate of a model that is asked in place of another: one without a price is passed over, and stops no run."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.unpriced = gate.unpriced
        self.throttled = gate.throttled
        self.tool = gate.tool

    def request(self, need: RequestNeed) -> AbstractAsyncContextManager[Result[Grant, OhmError]]:
        refused = self._gate.unpriced(need) if need.price is None else None
        return self._gate.request(need) if refused is None else _refusal(refused)


@asynccontextmanager
async def _refusal(error: OhmError) -> AsyncGenerator[Result[Grant, OhmError]]:
    yield Err(error)


def _on(model: ModelPattern, request: RunRequest, *, number: int) -> RunRequest:
    """Return the request with the model that is the `number`-th to be asked."""
    gate = request.gate if number == 1 or request.gate is None else _StrictGate(request.gate)
    feed = request.feed.attempt(number) if isinstance(request.feed, RecordedFeed) else request.feed
    return replace(request, spec=replace(request.spec, model=model), gate=gate, feed=feed)


def _error_in(result: object) -> OhmError | None:
    """Return the error of a run; None for an answer, and for whatever a backend may return that is no result."""
    match result:
        case Err(OhmError() as error):
            return error
        case _:
            return None


def _named(model: ModelPattern) -> str:
    return f"{model.provider}/{model.model}"
