"""Observers, and structlog as one of them: events become log lines here and nowhere else."""

from __future__ import annotations

import logging
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from ohm_subagents._plugins.hookspecs import PROJECT
from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    DiagnosticRaised,
    Event,
    Failed,
    FileChanged,
    FollowUpTaken,
    GuardTripped,
    RequestHeld,
    RequestReleased,
    RouteResolved,
    RunEnded,
    RunStarted,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._plugins.interfaces import Observer
    from ohm_subagents.contract.task import Task


class Logger(Protocol):
    """What we need of a structlog logger."""

    def info(self, event: str, **fields: object) -> object: ...
    def warning(self, event: str, **fields: object) -> object: ...
    def error(self, event: str, **fields: object) -> object: ...
    def exception(self, event: str, **fields: object) -> object: ...


class HostLogger:
    """structlog over the stdlib logger `ohm_subagents`: says nothing until the host listens, never prints.

    A line that nobody listens to costs a look at the level; structlog is loaded for the first one that is written.
    """

    def __init__(self) -> None:
        self._stdlib = logging.getLogger(PROJECT)

    def hears(self, level: int) -> bool:
        """Whether the host listens to lines of this level."""
        return self._stdlib.isEnabledFor(level)

    def info(self, event: str, **fields: object) -> None:
        if self._stdlib.isEnabledFor(logging.INFO):
            self._structured.info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        if self._stdlib.isEnabledFor(logging.WARNING):
            self._structured.warning(event, **fields)

    def error(self, event: str, **fields: object) -> None:
        if self._stdlib.isEnabledFor(logging.ERROR):
            self._structured.error(event, **fields)

    def exception(self, event: str, **fields: object) -> None:
        if self._stdlib.isEnabledFor(logging.ERROR):
            self._structured.exception(event, **fields)

    @cached_property
    def _structured(self) -> Logger:
        import structlog  # noqa: PLC0415  its import costs more than all of ours

        logger: Logger = structlog.wrap_logger(
            self._stdlib,
            processors=[structlog.stdlib.render_to_log_kwargs],
            wrapper_class=structlog.stdlib.BoundLogger,
        )
        return logger


class Audience:
    """The observers of one task. One that raises is logged once and muted for that task."""

    def __init__(self, observers: Iterable[Observer], logger: Logger) -> None:
        self._observers = list(observers)
        self._untold: deque[tuple[Task, Event]] = deque()
        self.logger = logger

    def join(self, *observers: Observer) -> None:
        """Tell some more from now on."""
        self._observers += observers

    def leave(self, *observers: Observer) -> None:
        """Tell them no more; one may have been muted before."""
        self._observers = [one for one in self._observers if one not in observers]

    def notify(self, task: Task, event: Event) -> None:
        """Tell everyone, in order: what an observer sets off is told after what it was told."""
        self._untold.append((task, event))
        if len(self._untold) > 1:
            return
        while self._untold:
            self._tell(*self._untold[0])
            self._untold.popleft()

    def _tell(self, task: Task, event: Event) -> None:
        for observer in tuple(self._observers):
            try:
                observer.notify(task, event)
            except Exception:
                self._observers.remove(observer)
                self.logger.exception("observer.muted", observer=repr(observer), task_id=task.id)


EVENT_NAMES: dict[type[Event], str] = {
    TaskQueued: "task.queued",
    RunStarted: "run.started",
    FollowUpTaken: "follow_up.taken",
    RouteResolved: "route.resolved",
    ToolStarted: "tool.started",
    ToolEnded: "tool.ended",
    FileChanged: "file.changed",
    RequestHeld: "request.held",
    RequestReleased: "request.released",
    GuardTripped: "guard.tripped",
    DiagnosticRaised: "diagnostic.raised",
    RunEnded: "run.ended",
    TaskSettled: "task.settled",
}
"""What is logged, and how it is called. Streamed text, tool payloads and usage steps are not log lines."""

UNLOGGED: tuple[type[Event], ...] = (AgentEnded, TextDelta, ThinkingDelta, ToolUpdated, UsageAdded, Checkpointed)


class LogObserver:
    """Events → structlog lines with one set of fields. Prompts, answers and tool payloads never leave through here."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def notify(self, task: Task, event: Event) -> None:
        """Write the line of this event, if it has one."""
        name = EVENT_NAMES.get(type(event))
        if name is None:
            return
        is_warning = isinstance(event, DiagnosticRaised | GuardTripped) or (
            isinstance(event, RunEnded | TaskSettled) and isinstance(event.outcome, Failed)
        )
        level = logging.WARNING if is_warning else logging.INFO
        if isinstance(self._logger, HostLogger) and not self._logger.hears(level):
            return
        write = self._logger.warning if is_warning else self._logger.info
        write(name, **_fields(task, event))


def _fields(task: Task, event: Event) -> dict[str, object]:
    fields: dict[str, object] = {
        "task_id": task.id,
        "session_id": task.session_id,
        "run": len(task.runs),
        "profile": task.profile,
        "backend": task.backend,
        "provider": task.route.provider,
        "model": task.route.model,
        "runtime": task.route.runtime,
        "route": task.route.route,
        "status": task.status,
    }
    match event:
        case ToolStarted() | ToolEnded():
            fields |= {"tool": event.tool, "call_id": event.call_id}
            if isinstance(event, ToolEnded):
                fields["tool_status"] = event.status
        case FileChanged(path=path):
            fields |= {"path": path}
        case RequestHeld(why=why):
            fields |= {"why": why}
        case GuardTripped():
            fields |= {"guard": event.guard, "step": event.step, "guard_message": event.message}
        case DiagnosticRaised(diagnostic=diagnostic):
            fields |= {"subject": diagnostic.subject, "diagnostic": diagnostic.message}
        case RunEnded(outcome=outcome) | TaskSettled(outcome=outcome):
            fields |= {"outcome": outcome.kind, "duration_ms": task.updated_ms - (task.started_ms or task.created_ms)}
            if isinstance(outcome, Failed):
                fields |= {
                    "error_code": str(outcome.error.code),
                    "error_category": str(outcome.error.resolved_category),
                }
        case _:
            pass
    return fields
