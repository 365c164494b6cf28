"""The failure of an attempt, and the rule for another one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import Category, ErrorCode, Failed, Succeeded
from ohm_subagents.suites.single.details import SubagentErrorCode, code_of
from ohm_subagents.suites.single.limits import TimeoutReason, timed_out, timeout_of

if TYPE_CHECKING:
    from ohm_subagents.suite import OhmError, Run, Task
    from ohm_subagents.suites.single.settings import SingleSettings

CANCELLED: Final = "Subagent execution was cancelled by user."
TIMED_OUT: Final = 124
STOPPED: Final = 130
_SIGNALLED: Final = 128
_NOT_STARTED: Final = frozenset({ErrorCode.COMMAND_UNUSABLE, ErrorCode.CWD_UNREADABLE})
_LASTING: Final = frozenset({ErrorCode.BACKEND_TIMEOUT, ErrorCode.LOOP_DETECTED})
"""Errors by which the engine ends a run: another attempt would take as long."""
_PASSING: Final = re.compile(
    r"internal_server_error|stream error|ECONNRE(?:SET|FUSED)|ETIMEDOUT|ENOTFOUND|rate[ _-]?limit|overloaded"
    r"|temporarily unavailable|time[ -]?out",
    re.IGNORECASE,
)
"""Messages of failures that may pass."""
_PROVIDER_ERROR: Final = re.compile(r"\s*Error Code [\w-]+:", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Exit code, error code, and the error in one sentence, or empty.

    `timeout` is the suite's limit that ended it; with `may_pass` the same prompt may succeed the next time.
    """

    exit_code: int
    code: SubagentErrorCode
    error: str
    timeout: TimeoutReason | None = None
    may_pass: bool = False


def is_provider_error(text: str) -> bool:
    """Return True for an error that some services send as a text of the model."""
    return _PROVIDER_ERROR.match(text) is not None


def newest_run(task: Task | None) -> Run | None:
    """Return the newest attempt, which is the one that counts."""
    return None if task is None or not task.runs else task.runs[-1]


def failure_of(task: Task | None, settings: SingleSettings, *, said: str) -> Failure | None:
    """Return the failure of the newest attempt, of a task that may not be settled yet; None for a success.

    `said` is the newest text of the assistant. A process that answers and then ends with another exit code than 0 has
    failed all the same.
    """
    run = newest_run(task)
    error = _error_of(task, run)
    if error is not None:
        return _failed(error, run, settings, said)
    if task is None or task.status == "cancelled" or run is None or not isinstance(run.outcome, Succeeded):
        return Failure(exit_code=STOPPED, code=SubagentErrorCode.SUBAGENT_FAILED, error=CANCELLED)
    output = run.output or ""
    if is_provider_error(output):
        return _coded(run.exit_code or 1, output.strip(), may_pass=_may_pass(output))
    return _coded(run.exit_code, "") if run.exit_code else None


def is_worth_another(task: Task | None, settings: SingleSettings, *, said: str) -> bool:
    """Return True if the task has failed in a way that may pass; `said` as in `failure_of`."""
    failure = failure_of(task, settings, said=said)
    return failure is not None and failure.may_pass


def _error_of(task: Task | None, run: Run | None) -> OhmError | None:
    if task is not None and task.error is not None:
        return task.error
    return run.outcome.error if run is not None and isinstance(run.outcome, Failed) else None


def _failed(error: OhmError, run: Run | None, settings: SingleSettings, said: str) -> Failure:
    timeout = None if run is None else timeout_of(run.stopped_by, settings)
    message = "" if error.is_wordless else error.cause or str(error)
    if error.code == ErrorCode.BACKEND_TIMEOUT:
        message = message if timeout is None else timed_out(timeout, settings)
        return Failure(exit_code=TIMED_OUT, code=SubagentErrorCode.SUBAGENT_TIMEOUT, error=message, timeout=timeout)
    if error.code in _NOT_STARTED:
        message = f"Failed to spawn pi: {message}"
    provider = said.strip() if is_provider_error(said) else ""
    is_passing = error.resolved_category is Category.RUNTIME and error.code not in _LASTING
    may_pass = is_passing and (error.retryable or _may_pass(provider or error.message))
    message = provider or message
    return _coded(error.exit_code or 1, message, code_of(error.code), may_pass=may_pass)


def _coded(
    exit_code: int,
    error: str,
    code: SubagentErrorCode = SubagentErrorCode.SUBAGENT_FAILED,
    *,
    may_pass: bool = False,
) -> Failure:
    """Make a failure of an exit code; a process that timed itself out counts as a timeout."""
    if exit_code == TIMED_OUT:
        return Failure(exit_code=TIMED_OUT, code=SubagentErrorCode.SUBAGENT_TIMEOUT, error=error)
    shown = exit_code if exit_code >= 0 else _SIGNALLED - exit_code
    return Failure(exit_code=shown, code=code, error=error, may_pass=may_pass)


def _may_pass(text: str) -> bool:
    return _PASSING.search(text) is not None
