"""Tasks without secrets: what happens in one is redacted before anybody hears of it."""

from __future__ import annotations

import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ohm_subagents._orchestrator.held_text import HeldText, with_redacted_json
from ohm_subagents._orchestrator.live import LiveTask
from ohm_subagents.contract.events import (
    AgentEnded,
    Cancelled,
    Checkpointed,
    DiagnosticRaised,
    Failed,
    FileChanged,
    Finalized,
    FollowUpTaken,
    GuardTripped,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_subagents._orchestrator.lineage import Lineage
    from ohm_subagents._orchestrator.observe import Audience
    from ohm_subagents._orchestrator.plan import Plan
    from ohm_subagents._store.protocol import Store
    from ohm_subagents.contract.events import Event, Outcome
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.redaction import Redactor
    from ohm_subagents.contract.task import Task

TEXTS: Final[Mapping[type[Event], tuple[str, ...]]] = {
    TextDelta: ("text",),
    ThinkingDelta: ("text",),
    ToolEnded: ("text",),
    Finalized: ("error",),
    FileChanged: ("path",),
    RunStarted: ("prompt",),
    FollowUpTaken: ("prompt",),
    GuardTripped: ("message",),
    RunEnded: ("output", "summary"),
}
"""What of an event is text that somebody wrote."""
JSON: Final[Mapping[type[Event], tuple[str, ...]]] = {ToolStarted: ("args",), Finalized: ("result",)}
"""What may be JSON, where a text under the name of a secret goes whole."""
OF_ERRORS: Final = ("message", "advice", "summary", "cause")


def live_task(task: Task, plan: Plan, *, clock: Clock, store: Store, audience: Audience, lineage: Lineage) -> LiveTask:
    """The task, live; without secrets if its item wants that."""
    redactor = plan.item.redaction
    if redactor is None:
        return LiveTask(task, plan, clock=clock, store=store, audience=audience, lineage=lineage)
    task = redacted_task(task, redactor)
    return RedactedTask(task, plan, redactor, clock=clock, store=store, audience=audience, lineage=lineage)


def redacted_task(task: Task, redactor: Redactor | None) -> Task:
    """A task of which nothing has happened yet, with redacted texts of its own."""
    if redactor is None:
        return task
    text = redactor.text
    return replace(task, description=text(task.description), prompt=text(task.prompt), summary=text(task.summary))


class RedactedTask(LiveTask):
    """Text is recorded when it is whole: it is held back until something ends it, whatever comes in between.

    Pieces of the output of a tool are not recorded, its whole output is.
    """

    __slots__ = ("_held", "_redactor")

    def __init__(
        self,
        task: Task,
        plan: Plan,
        redactor: Redactor,
        *,
        clock: Clock,
        store: Store,
        audience: Audience,
        lineage: Lineage,
    ) -> None:
        super().__init__(task, plan, clock=clock, store=store, audience=audience, lineage=lineage)
        self._redactor = redactor
        self._held = HeldText(redactor)

    def record(self, event: Event) -> None:
        for one in self._redacted(event):
            super().record(one)

    def log_crash(self, error: Exception) -> None:
        told = self._redactor.text("".join(traceback.format_exception(error)))
        self.audience.logger.error("backend.raised", task_id=self.task.id, backend=self.task.backend, traceback=told)

    def _redacted(self, event: Event) -> Iterator[Event]:
        """What may be recorded now."""
        match event:
            case TextDelta() | ThinkingDelta():
                yield from self._held.add(event)
            case UsageAdded() | AgentEnded():
                yield from self._held.followed_by(event)
            case Checkpointed() if self.item.is_one_shot:
                yield from self._held.whole()
            case RunEnded(outcome=outcome) | TaskSettled(outcome=outcome):
                yield from self._held.whole(is_broken=not isinstance(outcome, Succeeded))
                yield redacted_event(event, self._redactor)
            case ToolStarted() | ToolEnded() | Finalized() | Checkpointed() | RunStarted() | FollowUpTaken():
                yield from self._held.whole()
                yield redacted_event(event, self._redactor)
            case _:  # it says nothing of what the text around it is
                yield redacted_event(event, self._redactor)


def redacted_event(event: Event, redactor: Redactor) -> Event:
    """The same without secrets."""
    changes: dict[str, Any] = {name: redactor.text(getattr(event, name) or "") for name in TEXTS.get(type(event), ())}
    changes |= {name: with_redacted_json(getattr(event, name) or "", redactor) for name in JSON.get(type(event), ())}
    match event:
        case Finalized():
            changes = {name: None if getattr(event, name) is None else text for name, text in changes.items()}
        case ToolUpdated():
            changes["text"] = ""
        case DiagnosticRaised(diagnostic=diagnostic):
            changes["diagnostic"] = replace(diagnostic, message=redactor.text(diagnostic.message))
        case RunEnded(outcome=outcome) | TaskSettled(outcome=outcome):
            changes["outcome"] = _redacted_outcome(outcome, redactor)
        case _:
            pass
    return replace(event, **changes)


def _redacted_outcome(outcome: Outcome, redactor: Redactor) -> Outcome:
    match outcome:
        case Failed(error=error):
            texts: dict[str, Any] = {name: redactor.text(getattr(error, name)) for name in OF_ERRORS}
            return Failed(error=replace(error, **texts))
        case Cancelled(reason=reason):
            return Cancelled(reason=redactor.text(reason))
        case Succeeded():
            return outcome
