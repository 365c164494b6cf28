"""The end of a task of the engine, in the words of this suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import UNAVAILABLE, Cancelled, ErrorCode, plain_failure
from ohm_subagents.suites.delegate import SUITE
from ohm_subagents.suites.delegate.details import SessionRun, SessionStatus, Window, Windows
from ohm_subagents.views import messages_of, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.suite import OhmError, SessionTask, Task

INTERRUPTED: Final = "Session was interrupted (main agent session ended unexpectedly)"
LOOP: Final = "Loop detected: sub-agent is repeating the same tool calls"
SPAWN_FAILED: Final = "Failed to spawn sub-agent process"
ABORTED: Final = "Aborted before it was begun."
_SHORTER: Final[Mapping[str, str]] = {
    ErrorCode.REHYDRATED_INCOMPLETE: INTERRUPTED,
    ErrorCode.LOOP_DETECTED: LOOP,
    ErrorCode.COMMAND_UNUSABLE: SPAWN_FAILED,
}
"""The fixed words for a failure; its own words are then among the notes."""
_WORDED: Final = frozenset({ErrorCode.UNKNOWN_SUBAGENT_TYPE, ErrorCode.UNKNOWN_SKILLS})
"""Failures whose message has its fixed words already: advice is among the notes, as none may follow them."""


def timed_out(timeout_s: float) -> str:
    """Return the message of a sub-agent that has used up its time, whatever was added to it."""
    return f"Timed out after {seconds_text(timeout_s)}s. Consider resuming with a longer timeout."


def seconds_text(seconds: float) -> str:
    """Return a number of seconds as it was written, with all of its digits: `600`, `1234567`, `12345.678`."""
    return f"{int(seconds) if float(seconds).is_integer() else seconds}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of a task in a window and in a session entry; `running` while it has none."""

    status: SessionStatus
    exit_code: int | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    notes: tuple[str, ...] = ()


def ending(task: Task, *, timeout_s: float | None = None) -> Ending:
    """Return how a task stands or ended, which was given `timeout_s`; of one from the store its launch says that."""
    notes = tuple(diagnostic.message for diagnostic in task.diagnostics)
    match task.status:
        case "queued" | "running":
            return Ending(status="running", notes=notes)
        case "succeeded":
            return Ending(status="completed", exit_code=0, stop_reason="stop", notes=notes)
        case "cancelled":
            outcome = task.runs[0].outcome if task.runs else None
            why = outcome.reason if isinstance(outcome, Cancelled) else ABORTED
            return Ending(status="error", exit_code=1, stop_reason="aborted", error_message=why, notes=notes)
        case "failed":
            given_s = _timeout_s(task) if timeout_s is None else timeout_s
            if given_s is not None and task.stopped_by == "soft":
                return Ending(
                    status="error", exit_code=1, stop_reason="error", error_message=timed_out(given_s), notes=notes
                )
            return failure(task.error, notes=notes)


def _timeout_s(task: Task) -> float | None:
    """Return the timeout of a sub-agent that the store keeps; None for a task of another suite."""
    return None if task.launch is None or task.assignment.suite != SUITE else task.launch.limits.soft_ms / 1000


def failure(error: OhmError | None, *, notes: tuple[str, ...] = ()) -> Ending:
    """Return the ending of a sub-agent that failed, or never began; what fixed words leave out is among the notes."""
    if error is None or error.is_wordless:
        return Ending(status="error", exit_code=_exit_code(error), stop_reason="error", notes=notes)
    error = plain_failure(error, who="The sub-agent")
    is_worded = error.code in _WORDED
    message = error.message if is_worded else str(error)
    short = _SHORTER.get(error.code)
    if short is not None:
        message, notes = short, (*notes, str(error))
    elif is_worded and error.advice:
        notes = (*notes, error.advice)
    code = 1 if is_worded else _exit_code(error)
    return Ending(status="error", exit_code=code, stop_reason="error", error_message=message, notes=notes)


def _exit_code(error: OhmError | None) -> int:
    return 1 if error is None else error.exit_code or 1


def kept_run(session_id: str, kept: SessionTask) -> SessionRun:
    """Return the run of a task that the store keeps."""
    task, ended = kept.task, ending(kept.task)
    return SessionRun(
        session_id=session_id,
        task_name=task.assignment.description,
        prompt=task.assignment.prompt,
        status=ended.status,
        messages=messages_of(kept.history, prompt=task.assignment.prompt),
        exit_code=ended.exit_code,
        model=None if task.route.model == UNAVAILABLE else task.route.model,
        stop_reason=ended.stop_reason,
        error_message=ended.error_message,
        started_at=task.assignment.created_ms,
    )


def result_text(seen: Windows) -> str:
    """One line a task, in the order of the call: how it ended, why, its session, its profile."""
    return "\n".join(map(_result_line, seen.windows))


def _result_line(window: Window) -> str:
    name = " ".join(printable(window.name).split())
    if window.status == "completed":
        line = f"✓ {name}: completed"
    else:
        why = f" — {window.error_message}" if window.error_message else ""
        line = f"✗ {name}: error{why}"
    profile = f" ({window.profile_info})" if window.profile_info else ""
    left_out = "".join(f" [{' '.join(printable(why).split())}]" for why in window.left_out or ())
    return f"{line} (session: {window.session_id}){profile}{left_out}"
