"""Events as log lines: written here and nowhere else, in the words of one table."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from ohm_subagents._orchestrator.observe.logger import HostLogger, SteadyLogger
from ohm_subagents._records import dataclass
from ohm_subagents.contract.acceptance import OutcomeChecked
from ohm_subagents.contract.events import (
    DiagnosticRaised,
    Event,
    FileChanged,
    Finalized,
    FollowUpTaken,
    GuardTripped,
    RequestHeld,
    RequestReleased,
    RunEnded,
    RunStarted,
    TaskQueued,
    TaskSettled,
    ToolEnded,
    ToolStarted,
)
from ohm_subagents.contract.model_route import ModelSelected, RouteResolved
from ohm_subagents.contract.outcome import Failed
from ohm_subagents.contract.requests import AnswerAwaited, AnswerGiven
from ohm_subagents.contract.workspace import WorkspaceKept

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.usage import Usage


@dataclass(frozen=True, slots=True)
class LogLine:
    """One kind of log line."""

    name: str
    when: str
    """The occasion, as one sentence of the table in the documentation."""
    adds: tuple[str, ...] = ()
    """The names of its fields besides those of every line."""
    is_warning: bool = False
    """It is a warning always; the end of a run or of a task is one if it failed."""


_END: Final = ("outcome", "duration_ms", "stopped_by", "error_code", "error_category")
LINES: Final[Mapping[type[Event], LogLine]] = {
    TaskQueued: LogLine("task.queued", "A task was admitted."),
    RunStarted: LogLine("run.started", "A prompt was given to the backend."),
    FollowUpTaken: LogLine("follow_up.taken", "The run that goes on has taken a follow-up."),
    RouteResolved: LogLine("route.resolved", "It is known which model and runtime do the work."),
    ToolStarted: LogLine("tool.started", "A tool call began.", ("tool", "call_id")),
    ToolEnded: LogLine("tool.ended", "A tool call ended.", ("tool", "call_id", "tool_status")),
    FileChanged: LogLine("file.changed", "A file was written.", ("path",)),
    WorkspaceKept: LogLine("workspace.kept", "The changes to files of its own are kept.", ("ref", "files")),
    OutcomeChecked: LogLine("outcome.checked", "The checks of the outcome have run.", ("verified", "attempt")),
    Finalized: LogLine("answer.finalized", "A subagent handed in its answer.", ("final_status",)),
    RequestHeld: LogLine("request.held", "A model request waits for its turn or its budget.", ("provider", "why")),
    RequestReleased: LogLine("request.released", "The model request goes out."),
    AnswerAwaited: LogLine(
        "answer.awaited", "The run waits for an answer to a request.", ("request_id", "request_kind", "tool")
    ),
    AnswerGiven: LogLine("answer.given", "A request was answered.", ("request_id", "answer", "answered_by")),
    ModelSelected: LogLine(
        "model.selected", "A model was chosen among several, or in place of one that failed.", ("selected", "why")
    ),
    GuardTripped: LogLine(
        "guard.tripped",
        "A clock, the loop guard or a budget stepped in.",
        ("guard", "step", "guard_message"),
        is_warning=True,
    ),
    DiagnosticRaised: LogLine(
        "diagnostic.raised", "Something was not honoured as written.", ("subject", "diagnostic"), is_warning=True
    ),
    RunEnded: LogLine("run.ended", "The backend returned, failed or was stopped.", _END),
    TaskSettled: LogLine("task.settled", "Nothing more will happen to the task.", (*_END, "usage", "tree_usage")),
}
"""The events that are logged; streamed text, payloads of tools and steps of usage are not."""


_ENDS: Final = (RunEnded, TaskSettled)


class LogObserver:
    """Writes the events of all tasks to a logger. Prompts, answers and tool payloads never leave through here."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._is_enabled = logger.is_enabled if isinstance(logger, HostLogger | SteadyLogger) else None

    def notify(self, task: Task, event: Event) -> None:
        """Write the line of this event, if it has one."""
        line = LINES.get(type(event))
        if line is None:
            return
        is_warning = line.is_warning
        if isinstance(event, _ENDS):
            is_warning = isinstance(event.outcome, Failed)
        if self._is_enabled is not None and not self._is_enabled(logging.WARNING if is_warning else logging.INFO):
            return
        write = self._logger.warning if is_warning else self._logger.info
        write(line.name, **_common(task) | _own(task, event))


def _common(task: Task) -> dict[str, object]:
    return {
        "task_id": task.id,
        "session_id": task.session_id,
        "parent": task.assignment.parent,
        "run": len(task.runs),
        "profile": task.assignment.profile,
        "backend": task.assignment.backend,
        "provider": task.route.provider,
        "model": task.route.model,
        "runtime": task.route.runtime,
        "route": task.route.route,
        "status": task.status,
    }


def _own(task: Task, event: Event) -> dict[str, object]:  # noqa: C901, PLR0912  one arm an event is the point
    match event:
        case ToolStarted():
            return {"tool": event.tool, "call_id": event.call_id}
        case ToolEnded():
            return {"tool": event.tool, "call_id": event.call_id, "tool_status": event.status}
        case FileChanged():
            return {"path": event.path}
        case WorkspaceKept():
            return {"ref": event.ref, "files": event.files}
        case OutcomeChecked():
            return {"verified": event.verified, "attempt": event.attempt}
        case Finalized():
            return {"final_status": event.status}
        case RequestHeld():
            return {"provider": event.provider, "why": event.why}
        case AnswerAwaited(request=request):
            return {"request_id": request.id, "request_kind": request.kind, "tool": request.tool}
        case AnswerGiven():
            return {"request_id": event.request_id, "answer": event.answer.kind, "answered_by": event.by}
        case ModelSelected():
            return {"selected": event.model, "why": event.why}
        case GuardTripped():
            return {"guard": event.guard, "step": event.step, "guard_message": event.message}
        case DiagnosticRaised(diagnostic=diagnostic):
            return {"subject": diagnostic.subject, "diagnostic": diagnostic.text}
        case RunEnded(outcome=outcome) | TaskSettled(outcome=outcome):
            error = outcome.error if isinstance(outcome, Failed) else None
            used = _used(task) if isinstance(event, TaskSettled) else {}
            return used | {
                "outcome": outcome.kind,
                "duration_ms": task.updated_ms - (task.started_ms or task.assignment.created_ms),
                "stopped_by": task.stopped_by,
                "error_code": None if error is None else str(error.code),
                "error_category": None if error is None else str(error.resolved_category),
            }
        case _:
            return {}


def _used(task: Task) -> dict[str, object]:
    return {"usage": _counts(task.activity.usage), "tree_usage": _counts(task.activity.tree_usage)}


def _counts(usage: Usage) -> dict[str, object]:
    return {
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "tool_calls": usage.tool_calls,
        "cost_usd": None if usage.cost_usd is None else str(usage.cost_usd),
    }
