"""The results of runs as they are recorded: answers that were checked, and failures that name their task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._concurrency.faults import error_text
from ohm_subagents._orchestrator.run.intake import InvalidValueError, bounded, checked_output
from ohm_subagents._plugins.backends.interface import RunOutput
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import TextDelta
from ohm_subagents.contract.outcome import Cancelled, Failed
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.text import encodable
from ohm_subagents.contract.truncation import shortened

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents.contract.outcome import Outcome


def checked_result(live: RunningTask, prompt: QueuedPrompt, answer: object) -> Result[RunOutput, OhmError]:
    """Return the checked result; of an answer that cannot be recorded, the text is kept."""
    try:
        result = checked_output(answer, live.record.redact)
    except InvalidValueError as invalid:
        detail = f"{invalid}"
        match answer:
            case Ok(RunOutput(text=str(text))) if not live.task.activity.said:
                live.record.add(TextDelta(text=encodable(str.__str__(text))))
            case Err(OhmError(message=str(said))):
                detail = f"{invalid}. It said: {encodable(str.__str__(said))}"
            case _:
                pass
        return Err(crash_of(live, detail))
    match result:
        case Ok(output) if not output.summary:
            summary = prompt.summary(live.record.redact)
            return Ok(RunOutput(text=output.text, summary=summary, exit_code=output.exit_code))
        case _:
            return result


def failure_of(error: OhmError, live: RunningTask) -> Outcome:
    """Return the outcome of a run that ended with an error; that of a cancelled one is no failure."""
    if error.code == ErrorCode.TASK_ABORTED:
        return Cancelled(reason=error.message)
    return Failed(error=replace(bounded(error, live.record.redact), task_id=live.task.id))


def raised_in(live: RunningTask, error: BaseException) -> OhmError:
    """Return the error of a run, or of a task, in which something was raised."""
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return crash_of(live, "something that it waited for was cancelled")
    live.record.log_crash(error)
    return crash_of(live, error_text(error))


def crash_of(live: RunningTask, detail: str) -> OhmError:
    """Return the error of a backend that broke the rules of its interface."""
    cut = shortened(live.record.redact(detail), 260)
    message = f"Task {live.task.id} backend failed: {cut}"
    return OhmError(code=ErrorCode.BACKEND_FAILED, message=message, task_id=live.task.id, cause=cut)
