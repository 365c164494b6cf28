"""The history of a task, in order and uncut, for people."""

from __future__ import annotations

from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import printable
from ohm_subagents._views.quantities import duration_text, instant_text
from ohm_subagents._views.task_texts import DONE, FAILED, STARTED, UPDATED, task_title
from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    DiagnosticRaised,
    Event,
    FileChanged,
    Finalized,
    FollowUpTaken,
    GuardTripped,
    Recorded,
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
from ohm_subagents.contract.outcome import Cancelled, Failed, Outcome, Succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ohm_subagents.contract.task import Task

_STREAMS: Final[Mapping[type, str]] = MappingProxyType({TextDelta: "assistant", ThinkingDelta: "thinking"})


def transcript_lines(task: Task, history: Iterable[Recorded]) -> Iterator[str]:
    """Yield prompts, the assistant's text, tool calls, results and how each run ended; times count from the start.

    An answer that was streamed is not repeated.
    """
    asked = task.assignment
    yield printable(f"{task_title(asked.profile, asked.description)} · {task.id} · {instant_text(asked.created_ms)}")
    if asked.resumed_from is not None:
        yield printable(f"Continues {asked.resumed_from}.")
    for at_ms, heading, body in _blocks(history):
        yield ""
        yield printable(f"{heading} · +{duration_text(at_ms - asked.created_ms)}")
        yield from (f"  {line}" if line else "" for line in printable(body).split("\n") if body)


def _blocks(history: Iterable[Recorded]) -> Iterator[tuple[int, str, str]]:
    """Yield each block as its time in epoch milliseconds, its heading and its text."""
    said = ""
    for stream, entries in groupby(history, key=_stream):
        if stream is not None:
            pieces = [*entries]
            text = "".join(one.event.text for one in pieces if isinstance(one.event, TextDelta | ThinkingDelta))
            said = text if stream == "assistant" else said
            if text.strip():
                yield pieces[0].at_ms, stream, text.strip("\n")
            continue
        for entry in entries:
            if isinstance(entry.event, RunEnded):
                if entry.event.output.strip() not in {"", said.strip()}:
                    yield entry.at_ms, "answer", entry.event.output.strip("\n")
                said = ""
                yield entry.at_ms, *_ending(entry.event.outcome)
            elif (block := _block(entry.event)) is not None:
                yield entry.at_ms, *block


def _stream(entry: Recorded) -> str | None:
    return _STREAMS.get(type(entry.event))


def _ending(outcome: Outcome) -> tuple[str, str]:
    match outcome:
        case Succeeded():
            return f"{DONE} succeeded", ""
        case Failed(error=error):
            return f"{FAILED} failed", str(error)
        case Cancelled(reason=reason):
            return f"{STARTED} cancelled", reason


def _block(event: Event) -> tuple[str, str] | None:  # noqa: C901  one arm an event is the point
    match event:
        case RunStarted(prompt=prompt):
            return "prompt", prompt
        case FollowUpTaken(prompt=prompt):
            return "follow-up", prompt
        case ToolStarted(tool=tool, args=args):
            return f"{STARTED} {tool}", args
        case ToolUpdated(tool=tool, text=text):
            return f"{UPDATED} {tool}", text
        case ToolEnded(tool=tool, text=text, status=status):
            return f"{DONE if status == 'success' else FAILED} {tool}", text
        case FileChanged(path=path):
            return "wrote", path
        case GuardTripped(guard=guard, step=step, message=message):
            return f"{guard}: {step}", message
        case DiagnosticRaised(diagnostic=diagnostic):
            return "diagnostic", str(diagnostic)
        case TextDelta() | ThinkingDelta() | RunEnded():  # shown above
            return None
        case TaskQueued() | TaskSettled() | AgentEnded() | RequestHeld() | RequestReleased():
            return None
        case RouteResolved() | UsageAdded() | Checkpointed() | Finalized():
            return None
