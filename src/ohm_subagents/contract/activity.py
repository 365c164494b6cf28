"""Activity: everything that a backend has reported of a task, and how one report changes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    FileChanged,
    Finalized,
    Recorded,
    Report,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.contract.usage import NOTHING_USED, Usage

MAX_EVENTS = 120
_BETWEEN_TURNS = "\n\n"  # between the texts of two turns, which a tool call or a new run separates


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A tool call that has begun and not ended."""

    call_id: str
    """Its id, unique among the open calls of the run."""
    tool: str
    """The name of the tool."""


@dataclass(frozen=True, kw_only=True)
class Activity:
    """The reports of the backend so far, over all runs of a task."""

    max_events: int = MAX_EVENTS
    """The most `events`, and the most `calls`, that are kept."""
    events: tuple[Recorded, ...] = ()
    """The newest text and tool events, oldest first."""
    event_total: int = 0
    """The number of such events, kept or not."""
    calls: tuple[Recorded, ...] = ()
    """The newest events about tools, kept apart so that a long answer does not push them out."""
    open_calls: tuple[OpenCall, ...] = ()
    """The tool calls that have begun and not ended."""
    said: tuple[str, ...] = ()
    """The pieces of the streamed answer; `Task.text` joins them."""
    is_speaking: bool = False
    """True if the next piece of text continues the last one."""
    files: tuple[str, ...] = ()
    """The files written, in order of their first change; relative to the working directory where they lie in it."""
    usage: Usage = NOTHING_USED
    """The sum of what all model requests and tool calls consumed."""
    progress_ms: int | None = None
    """The time of the backend's newest report, in epoch milliseconds."""
    checkpoint: str | None = None
    """The newest conversation state of the backend, in its own text format."""
    finalized: Finalized | None = None
    """The answer that the newest run handed in, unless another tool was called after it."""


if TYPE_CHECKING:
    from dataclasses import replace

    changed = replace
else:

    def changed(record: object, **changes: object) -> object:
        """Do what `dataclasses.replace` does, several times as fast: this is on the path of every streamed word."""
        new = object.__new__(type(record))
        object.__setattr__(new, "__dict__", record.__dict__ | changes)
        return new


def reported(activity: Activity, event: Report, *, at_ms: int) -> Activity:  # noqa: C901  one arm an event
    """Return the next activity. Pure; never raises."""
    match event:
        case TextDelta():
            piece = event.text if activity.is_speaking or not activity.said else f"{_BETWEEN_TURNS}{event.text}"
            return changed(
                activity,
                progress_ms=at_ms,
                said=_extended(activity.said, piece),
                is_speaking=True,
                events=(*activity.events, Recorded(at_ms=at_ms, event=event))[-activity.max_events :],
                event_total=activity.event_total + 1,
            )
        case ThinkingDelta():
            return changed(activity, progress_ms=at_ms)
        case ToolStarted():
            opened = (*activity.open_calls, OpenCall(call_id=event.call_id, tool=event.tool))
            final = activity.finalized if event.tool == FINALIZE else None  # a call after the answer voids it
            return changed(_called(activity, event, at_ms), finalized=final, open_calls=opened)
        case ToolUpdated():
            return _called(activity, event, at_ms)
        case ToolEnded():
            return changed(
                _called(activity, event, at_ms),
                open_calls=tuple(call for call in activity.open_calls if call.call_id != event.call_id),
                usage=activity.usage + Usage(tool_calls=1),
                progress_ms=activity.progress_ms if event.status == "interrupted" else at_ms,
            )
        case UsageAdded():
            return changed(activity, progress_ms=at_ms, usage=activity.usage + event.usage)
        case FileChanged():
            files = activity.files if event.path in activity.files else (*activity.files, event.path)
            return changed(activity, progress_ms=at_ms, files=files)
        case Checkpointed():
            return changed(activity, checkpoint=event.state)
        case Finalized():  # within its call: one that began since then has voided it
            return changed(activity, progress_ms=at_ms, finalized=_valid(event, activity.calls))
        case AgentEnded():
            return changed(
                activity,
                progress_ms=at_ms,
                events=(*activity.events, Recorded(at_ms=at_ms, event=event))[-activity.max_events :],
                event_total=activity.event_total + 1,
            )


def begun(activity: Activity) -> Activity:
    """Return the activity when another run begins: nothing of the one before goes on."""
    if activity.is_speaking or activity.finalized is not None:
        return changed(activity, is_speaking=False, finalized=None)
    return activity


def run_ended(activity: Activity) -> Activity:
    """Return the activity when a run has ended: no call is open any more."""
    return changed(activity, open_calls=()) if activity.open_calls else activity


def _called(activity: Activity, event: ToolStarted | ToolUpdated | ToolEnded, at_ms: int) -> Activity:
    recorded = Recorded(at_ms=at_ms, event=event)
    return changed(
        activity,
        progress_ms=at_ms,
        is_speaking=False,
        events=(*activity.events, recorded)[-activity.max_events :],
        event_total=activity.event_total + 1,
        calls=(*activity.calls, recorded)[-activity.max_events :],
    )


def _extended(pieces: tuple[str, ...], piece: str) -> tuple[str, ...]:
    """Add a piece; short ones are merged with those before, so that a long text is not copied for each word."""
    kept = len(pieces)
    while kept and len(pieces[kept - 1]) <= len(piece):
        kept -= 1
        piece = f"{pieces[kept]}{piece}"
    return (*pieces[:kept], piece)


def _valid(finalized: Finalized, calls: tuple[Recorded, ...]) -> Finalized | None:
    """Return the answer unless another tool was called after its call: the order of the events is the rule."""
    begun = (one.event.tool for one in reversed(calls) if isinstance(one.event, ToolStarted))
    return finalized if next(begun, FINALIZE) == FINALIZE else None
