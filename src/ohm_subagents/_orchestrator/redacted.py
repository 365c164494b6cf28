"""Tasks without secrets: what happens in one is redacted before anybody hears of it."""

from __future__ import annotations

import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json, to_json

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
    RequestHeld,
    RequestReleased,
    RouteResolved,
    RunEnded,
    RunStarted,
    Succeeded,
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
    from collections.abc import Iterator

    from pydantic import JsonValue

    from ohm_subagents._orchestrator.lineage import Lineage
    from ohm_subagents._orchestrator.observe import Audience
    from ohm_subagents._orchestrator.plan import Plan
    from ohm_subagents._store.protocol import Store
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event, Outcome
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.redaction import Redactor
    from ohm_subagents.contract.task import Task


def live_task(task: Task, plan: Plan, *, clock: Clock, store: Store, audience: Audience, lineage: Lineage) -> LiveTask:
    """The task, live; without secrets if its item wants that."""
    redactor = plan.item.redaction
    if redactor is None:
        return LiveTask(task, plan, clock=clock, store=store, audience=audience, lineage=lineage)
    task = redacted_task(task, redactor)
    live = RedactedTask(task, plan, clock=clock, store=store, audience=audience, lineage=lineage)
    live.redactor = redactor
    return live


def redacted_task(task: Task, redactor: Redactor | None) -> Task:
    """A task of which nothing has happened yet, with redacted texts of its own."""
    if redactor is None:
        return task
    text = redactor.text
    return replace(task, description=text(task.description), prompt=text(task.prompt), summary=text(task.summary))


_HELD_CHARS: Final = 65_536
_LONGEST_LINE: Final = 1_048_576


class RedactedTask(LiveTask):
    """Text is recorded when it is whole: it is held back until something ends it, whatever comes in between.

    Of a very long one the whole lines are recorded earlier. Pieces of the output of a tool are not recorded, its whole
    output is.
    """

    __slots__ = ("_held", "_text", "_thinking", "redactor")
    redactor: Redactor

    def __init__(
        self, task: Task, plan: Plan, *, clock: Clock, store: Store, audience: Audience, lineage: Lineage
    ) -> None:
        super().__init__(task, plan, clock=clock, store=store, audience=audience, lineage=lineage)
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._held = 0

    def record(self, event: Event) -> None:
        for one in self._redacted(event):
            super().record(one)

    def log_crash(self, error: Exception) -> None:
        told = self.redactor.text("".join(traceback.format_exception(error)))
        self.audience.logger.error("backend.raised", task_id=self.task.id, backend=self.task.backend, traceback=told)

    def _redacted(self, event: Event) -> Iterator[Event]:
        """What may be recorded now."""
        text = self.redactor.text
        match event:
            case TextDelta():
                yield from self._hold(self._text, event.text)
            case ThinkingDelta():
                yield from self._hold(self._thinking, event.text)
            case ToolUpdated():
                yield replace(event, text="")
            case DiagnosticRaised(diagnostic=diagnostic):
                yield replace(event, diagnostic=replace(diagnostic, message=text(diagnostic.message)))
            case GuardTripped():
                yield replace(event, message=text(event.message))
            case FileChanged():
                yield replace(event, path=text(event.path))
            case RouteResolved() | TaskQueued() | RequestHeld() | RequestReleased():
                yield event
            case RunEnded(outcome=outcome):
                yield from self._whole(is_broken=not isinstance(outcome, Succeeded))
                yield replace(
                    event, outcome=self._outcome(outcome), output=text(event.output), summary=text(event.summary)
                )
            case TaskSettled(outcome=outcome):
                yield from self._whole(is_broken=not isinstance(outcome, Succeeded))
                yield replace(event, outcome=self._outcome(outcome))
            case _:
                yield from self._whole()
                yield from self._closing(event)

    def _closing(
        self,
        event: ToolStarted
        | ToolEnded
        | Finalized
        | UsageAdded
        | Checkpointed
        | AgentEnded
        | RunStarted
        | FollowUpTaken,
    ) -> Iterator[Event]:
        """An event after which another text begins."""
        text = self.redactor.text
        match event:
            case ToolStarted():
                yield replace(event, args=self._json(event.args))
            case ToolEnded():
                yield replace(event, text=text(event.text))
            case Finalized(result=result, error=error):
                yield replace(
                    event,
                    result=None if result is None else self._json(result),
                    error=None if error is None else text(error),
                )
            case RunStarted() | FollowUpTaken():
                yield replace(event, prompt=text(event.prompt))
            case Checkpointed():
                if not self.item.is_one_shot:
                    yield event
            case UsageAdded() | AgentEnded():
                yield event

    def _hold(self, pieces: list[str], text: str) -> Iterator[Event]:
        """Keep a piece; of too many, the whole lines are given back."""
        pieces.append(text)
        self._held += len(text)
        if self._held <= _HELD_CHARS or (self._held <= _LONGEST_LINE and "\n" not in text):
            return
        for kept, kind in ((self._thinking, ThinkingDelta), (self._text, TextDelta)):
            whole = "".join(kept)
            end = whole.rfind("\n") + 1 or (len(whole) if self._held > _LONGEST_LINE else 0)
            kept[:] = [whole[end:]]
            if end:
                yield kind(text=self.redactor.text(whole[:end]))
        self._held = len(self._thinking[0]) + len(self._text[0])

    def _whole(self, *, is_broken: bool = False) -> Iterator[Event]:
        """What was held back."""
        redacted = self.redactor.cut_off if is_broken else self.redactor.text
        thinking, said = "".join(self._thinking), "".join(self._text)
        self._thinking.clear()
        self._text.clear()
        self._held = 0
        if thinking:
            yield ThinkingDelta(text=redacted(thinking))
        if said:
            yield TextDelta(text=redacted(said))

    def _json(self, text: str) -> str:
        """Arguments as compact text, where a text under the name of a secret goes whole; any other text as a text."""
        try:
            value: JsonValue = from_json(text)
        except ValueError:
            return self.redactor.text(text)
        return (
            to_json(self.redactor.json(value)).decode() if isinstance(value, dict | list) else self.redactor.text(text)
        )

    def _outcome(self, outcome: Outcome) -> Outcome:
        match outcome:
            case Failed(error=error):
                return Failed(error=self._error(error))
            case Cancelled(reason=reason):
                return Cancelled(reason=self.redactor.text(reason))
            case Succeeded():
                return outcome

    def _error(self, error: OhmError) -> OhmError:
        text = self.redactor.text
        return replace(
            error,
            message=text(error.message),
            advice=text(error.advice),
            summary=text(error.summary),
            cause=text(error.cause),
        )
