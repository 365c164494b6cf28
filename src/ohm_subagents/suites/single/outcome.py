"""The result of a call, put together from texts without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import ToolResult
from ohm_subagents.suites.single.details import Details, ErrorInfo, SingleResult, SubagentErrorCode, code_of
from ohm_subagents.suites.single.truncation import cut
from ohm_subagents.suites.single.verdict import Failure, failure_of, newest_run

if TYPE_CHECKING:
    from typing import Literal

    from ohm_subagents.suite import OhmError
    from ohm_subagents.suites.single.child_run import ChildRun
    from ohm_subagents.suites.single.inputs import SubagentInput
    from ohm_subagents.suites.single.limits import TimeoutReason
    from ohm_subagents.suites.single.settings import SingleSettings

DISABLED: Final = "Subagents are disabled in configuration"
UNEXTRACTED: Final = "Subagent produced JSONL events but no final assistant text could be extracted."


def refused(code: SubagentErrorCode, message: str, *, mode: Literal["single", "management"] = "single") -> ToolResult:
    """Make the result of a call that starts nothing."""
    details = Details(mode=mode, error=ErrorInfo(code=code, message=message))
    return ToolResult(text=message, details=details.payload())


def not_begun(error: OhmError, *, max_depth: int) -> ToolResult:
    """Make the result of a task that the engine did not admit."""
    match code_of(error.code):
        case SubagentErrorCode.SUBAGENTS_DISABLED as code:
            return refused(code, DISABLED)
        case SubagentErrorCode.SUBAGENT_DEPTH_EXCEEDED as code:
            message = f"Maximum subagent depth ({max_depth}) exceeded. Subagents cannot call other subagents."
            return refused(code, message)
        case code:
            return refused(code, str(error))


def result_of(run: ChildRun, asked: SubagentInput, settings: SingleSettings) -> ToolResult:
    """Make the result of a task that has ended; `asked` is free of secrets too."""
    failure = _failure(run, settings)
    if failure is not None:
        return _failed(run, asked, failure)
    output = _answer(run)
    shown = cut(output)
    error = None
    if shown is not None:
        message = f"Output truncated: showing {shown.lines} of {shown.of_lines} lines"
        error = ErrorInfo(code=SubagentErrorCode.SUBAGENT_OUTPUT_TRUNCATED, message=message)
    one = _single(run, asked, exit_code=0, output=output)
    details = Details(run_id=run.run_id, results=(one,), error=error)
    text = "\n\n".join((output if shown is None else shown.text, *_warnings(run)))
    return ToolResult(text=text, details=details.payload())


def _failure(run: ChildRun, settings: SingleSettings) -> Failure | None:
    if run.flooded:
        return Failure(exit_code=1, code=SubagentErrorCode.SUBAGENT_OUTPUT_TRUNCATED, error=run.flooded)
    return failure_of(run.task, settings, said=run.last_said)


def _failed(run: ChildRun, asked: SubagentInput, failure: Failure) -> ToolResult:
    captured, error = run.last_text, failure.error
    sections = [f"Subagent failed with exit code {failure.exit_code}."]
    if run.attempts > 1:
        sections.append(f"Attempts: {run.attempts}.")
    if error:
        sections.append(f"Error:\n{error}")
    if captured and captured != error:
        sections.append(f"{'Last captured output' if run.has_answered else 'Partial output'}:\n{captured}")
    sections += _warnings(run)
    if run.session_file is not None:
        sections.append(f"Session file:\n{run.session_file}")
    text = "\n\n".join(sections)
    one = _single(
        run,
        asked,
        exit_code=failure.exit_code,
        output=captured or None,
        error=error or sections[0],
        timeout=failure.timeout,
    )
    details = Details(run_id=run.run_id, results=(one,), error=ErrorInfo(code=failure.code, message=text))
    return ToolResult(text=text, details=details.payload())


def _warnings(run: ChildRun) -> list[str]:
    return [f"Note: {warning}" for warning in run.warnings]


def _single(
    run: ChildRun,
    asked: SubagentInput,
    *,
    exit_code: int,
    output: str | None,
    error: str | None = None,
    timeout: TimeoutReason | None = None,
) -> SingleResult:
    return SingleResult(
        agent=asked.agent,
        task=asked.task,
        exit_code=exit_code,
        usage=run.usage,
        error=error,
        session_file=run.session_file,
        output=output,
        display_items=run.items,
        timeout_reason=timeout,
        notes=run.notes or None,
    )


def _answer(run: ChildRun) -> str:
    """Return the answer, else the newest text, else a count of the work done; empty if there was none."""
    newest = newest_run(run.task)
    answer = (newest and newest.output) or run.last_text
    if answer or not run.items:
        return answer
    calls = sum(item["type"] == "toolCall" for item in run.items)
    return "\n".join(
        (UNEXTRACTED, f"Turns: {run.usage.turns}", f"Tool calls: {calls}", f"Session file: {run.session_file}")
    )
