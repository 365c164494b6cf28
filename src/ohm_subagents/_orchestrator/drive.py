"""The one run loop, and the only caller of `Backend.run`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._orchestrator.live import RunSink
from ohm_subagents._plugins.interfaces import Exchange, RunOutput, RunRequest
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import Cancelled, DiagnosticRaised, Failed, RunStarted, Succeeded
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from ohm_subagents._orchestrator.backends import BackendPool
    from ohm_subagents._orchestrator.live import LiveTask
    from ohm_subagents.contract.events import Outcome

OWNER_CLOSED = Cancelled(reason="The owner of the task was closed.")


async def drive(
    live: LiveTask, pool: BackendPool, slot: AbstractAsyncContextManager[object], begun: Callable[[], None]
) -> None:
    """Run a task to its end, once there is a `slot`; `begun` is called when it runs. The record says how it ended."""
    outcome: Outcome = OWNER_CLOSED
    try:
        with live.scope:
            async with slot:
                if live.task.is_terminal:  # cancelled while it waited
                    return
                outcome = await _run(live, pool, begun)
    finally:
        live.settle(outcome)


async def _run(live: LiveTask, pool: BackendPool, begun: Callable[[], None]) -> Outcome:
    """Give the prompt to the backend under the task's deadline; record how that went."""
    plan = live.plan
    live.record(RunStarted(prompt=plan.item.prompt))
    for diagnostic in plan.diagnostics:
        live.record(DiagnosticRaised(diagnostic=diagnostic))
    begun()
    result: Result[RunOutput, OhmError] = Err(_timed_out(live))
    with anyio.move_on_after(plan.limits.soft_ms / 1000):
        result = await _ask(live, pool)
    match result:
        case Ok(output):
            live.end_run(Succeeded(), output)
            return Succeeded()
        case Err(error):
            outcome = _failure(error, live)
            live.end_run(outcome)
            return outcome


async def _ask(live: LiveTask, pool: BackendPool) -> Result[RunOutput, OhmError]:
    """One call of the backend; a raising one fails its own task only."""
    match await pool.backend(live.plan.backend):
        case Err() as failed:
            return failed
        case Ok(backend):
            sink = RunSink(live)
            try:
                answer: object = await backend.run(_request(live), sink)
            except Exception as exc:  # noqa: BLE001  the law says never raise; a plugin may break it, its siblings may not pay
                live.log_crash(exc)
                return Err(_crashed(live, f"{type(exc).__name__}: {exc}"))
            finally:
                sink.close()
            match answer:
                case Ok(RunOutput() as output):
                    return Ok(replace(output, summary=output.summary or live.plan.summary))
                case Err(OhmError() as error):
                    return Err(error)
                case _:
                    return Err(_crashed(live, f"it returned {type(answer).__name__}, not a Result"))


def _request(live: LiveTask) -> RunRequest:
    """The open run, as its backend sees it."""
    task, plan = live.task, live.plan
    *earlier, current = task.runs
    return RunRequest(
        task_id=task.id,
        session_id=task.session_id,
        profile=plan.profile,
        description=plan.item.description,
        prompt=current.prompt,
        instructions=plan.instructions,
        cwd=plan.cwd,
        tools=plan.tools,
        child_tools=plan.child_tools,
        model=plan.model,
        mode=plan.mode,
        history=tuple(Exchange(prompt=run.prompt, output=run.output or "") for run in earlier),
        checkpoint=task.checkpoint,
    )


def _failure(error: OhmError, live: LiveTask) -> Outcome:
    if error.code == ErrorCode.TASK_ABORTED:
        return Cancelled(reason=error.message)
    return Failed(error=replace(error, task_id=live.task.id))


def _timed_out(live: LiveTask) -> OhmError:
    return OhmError(
        code=ErrorCode.BACKEND_TIMEOUT,
        message=f"Task {live.task.id} timed out while waiting for subagent backend response",
        advice=f"The limit was {live.plan.limits.soft_ms} ms; raise OHM_SUBAGENTS_BACKEND_TIMEOUT_MS "
        "or give the subagent a smaller task.",
        retryable=True,
    )


def _crashed(live: LiveTask, detail: str) -> OhmError:
    cut = detail if len(detail) <= 260 else f"{detail[:259]}…"
    return OhmError(code=ErrorCode.BACKEND_FAILED, message=f"Task {live.task.id} backend failed: {cut}")
