"""What became of a task, in the words of 001."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.suites import ToolResult
from ohm_subagents._surfaces.single.child_run import MAX_STDOUT_BYTES, is_provider_error
from ohm_subagents._surfaces.single.details import Details, SingleResult, SubagentErrorCode, Wrong, code_of
from ohm_subagents._surfaces.single.truncation import cut, size_text
from ohm_subagents.contract.errors import ErrorCode

if TYPE_CHECKING:
    from typing import Literal

    from ohm_subagents._surfaces.single.child_run import ChildRun
    from ohm_subagents._surfaces.single.inputs import Asked
    from ohm_subagents._views.redaction import Redaction
    from ohm_subagents.contract.devkit_settings import DevkitSettings
    from ohm_subagents.contract.errors import OhmError

CANCELLED: Final = "Subagent execution was cancelled by user."
DISABLED: Final = "Subagents are disabled in configuration"
FLOODED: Final = f"Subagent output exceeded the stdout hard limit ({size_text(MAX_STDOUT_BYTES)})."
UNEXTRACTED: Final = "Subagent produced JSONL events but no final assistant text could be extracted."
_NOT_STARTED: Final = frozenset({ErrorCode.COMMAND_UNUSABLE, ErrorCode.CWD_UNREADABLE})


def refused(code: SubagentErrorCode, message: str, *, mode: Literal["single", "management"] = "single") -> ToolResult:
    """The result of a call that starts nothing."""
    details = Details(mode=mode, error=Wrong(code=code, message=message))
    return ToolResult(text=message, details=details.payload())


def not_begun(error: OhmError, *, max_depth: int) -> ToolResult:
    """The result of a task that the engine did not admit."""
    match code_of(error.code):
        case SubagentErrorCode.SUBAGENTS_DISABLED as code:
            return refused(code, DISABLED)
        case SubagentErrorCode.SUBAGENT_DEPTH_EXCEEDED as code:
            told = f"Maximum subagent depth ({max_depth}) exceeded. Subagents cannot call other subagents."
            return refused(code, told)
        case code:
            return refused(code, str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """Exit code, code of 001, and what went wrong, in one sentence; empty if nobody said."""

    exit_code: int
    code: SubagentErrorCode
    error: str


def result_of(run: ChildRun, asked: Asked, settings: DevkitSettings, redaction: Redaction) -> ToolResult:
    """The result of a task that has ended. Secrets go before anything is cut or put together: half of one could not be
    recognised, and lines that are folded in one part are not counted in another.
    """
    failure = _failure(run, settings)
    if failure is not None:
        return _failed(run, asked, failure, redaction)
    output = redaction.text(_answer(run))
    shown = cut(output)
    error = None
    if shown is not None:
        told = f"Output truncated: showing {shown.lines} of {shown.of_lines} lines"
        error = Wrong(code=SubagentErrorCode.SUBAGENT_OUTPUT_TRUNCATED, message=told)
    one = _single(run, asked, exit_code=0, output=output)
    details = Details(run_id=run.run_id, results=(one,), error=error)
    return ToolResult(text=output if shown is None else redaction.composed(shown.text), details=details.payload())


def _failure(run: ChildRun, settings: DevkitSettings) -> _Failure | None:
    task = run.task
    if run.is_flooded:
        return _Failure(exit_code=1, code=SubagentErrorCode.SUBAGENT_OUTPUT_TRUNCATED, error=FLOODED)
    if task is not None and task.status == "succeeded":
        if not is_provider_error(task.output):
            return None
        return _Failure(exit_code=1, code=SubagentErrorCode.SUBAGENT_FAILED, error=task.output.strip())
    error = None if task is None else task.error
    if error is None:
        return _Failure(exit_code=130, code=SubagentErrorCode.SUBAGENT_FAILED, error=CANCELLED)
    if error.code == ErrorCode.BACKEND_TIMEOUT:
        return _Failure(exit_code=124, code=SubagentErrorCode.SUBAGENT_TIMEOUT, error=_timed_out(run, settings))
    told = "" if error.is_wordless else str(error)
    if error.code in _NOT_STARTED:
        told = f"Failed to spawn pi: {told}"
    return _Failure(exit_code=error.exit_code or 1, code=code_of(error.code), error=told)


def _timed_out(run: ChildRun, settings: DevkitSettings) -> str:
    if run.timeout == "idle" and settings.idle_timeout_ms is not None:
        return f"Subagent timed out after {settings.idle_timeout_ms}ms without activity."
    return f"Subagent exceeded maximum runtime after {settings.timeout_ms}ms."


def _failed(run: ChildRun, asked: Asked, failure: _Failure, redaction: Redaction) -> ToolResult:
    captured, error = redaction.text(run.last_text), redaction.text(failure.error)
    sections = [f"Subagent failed with exit code {failure.exit_code}."]
    if run.attempts > 1:
        sections.append(f"Attempts: {run.attempts}.")
    if error:
        sections.append(f"Error:\n{error}")
    if captured and captured != error:
        sections.append(f"{'Last captured output' if run.has_answered else 'Partial output'}:\n{captured}")
    if run.session_file is not None:
        sections.append(f"Session file:\n{redaction.text(str(run.session_file))}")
    text = redaction.composed("\n\n".join(sections))
    one = _single(run, asked, exit_code=failure.exit_code, output=captured or None, error=error or sections[0])
    details = Details(run_id=run.run_id, results=(one,), error=Wrong(code=failure.code, message=text))
    return ToolResult(text=text, details=details.payload())


def _single(
    run: ChildRun, asked: Asked, *, exit_code: int, output: str | None, error: str | None = None
) -> SingleResult:
    return SingleResult(
        agent=asked.agent,
        task=asked.task,
        exit_code=exit_code,
        usage=run.usage,
        error=error,
        session_file=None if run.session_file is None else str(run.session_file),
        output=output,
        display_items=run.items,
        timeout_reason=run.timeout if exit_code == 124 else None,
        notes=run.notes or None,
    )


def _answer(run: ChildRun) -> str:
    """The answer of the task, else what was said last, else what there was instead; empty if there was nothing."""
    answer = ("" if run.task is None else run.task.output) or run.last_text
    if answer or not run.items:
        return answer
    calls = sum(item["type"] == "toolCall" for item in run.items)
    return "\n".join(
        (UNEXTRACTED, f"Turns: {run.usage.turns}", f"Tool calls: {calls}", f"Session file: {run.session_file}")
    )
