"""Activity: everything that a backend has reported of a task, and how one report changes it."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, TypeVar

from ohm_subagents._records import dataclass
from ohm_subagents.contract.account import NO_ACCOUNT, Account, AccountCharged
from ohm_subagents.contract.events import (
    ActivityEvent,
    AgentEnded,
    Checkpointed,
    FileChanged,
    Finalized,
    Recorded,
    RequestHeld,
    RequestReleased,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.feed import FeedRead
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.contract.run_wait import NO_WAIT, RunWait
from ohm_subagents.contract.usage import NOTHING_USED, ONE_TOOL_CALL, Usage
from ohm_subagents.contract.workspace import WorkspaceKept

if TYPE_CHECKING:
    from collections.abc import Callable

RecordT = TypeVar("RecordT")

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
class Consumption:
    """The usage of a task and of those below it, and the rest of its budgets."""

    usage: Usage = NOTHING_USED
    """The sum of what all model requests and tool calls of the task itself consumed."""
    account: Account | None = None
    """The usage of the tasks below it, and the rest of its budgets; None while there is neither."""

    @property
    def tree_usage(self) -> Usage:
        """The usage of the task and of all tasks below it, at any depth."""
        below = None if self.account is None else self.account.below
        return self.usage if below is None else self.usage + below


@dataclass(frozen=True, kw_only=True)
class Activity(Consumption):
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
    workspace: WorkspaceKept | None = None
    """The changes to files of its own; None for a task that works on those of its parent, or has changed none."""
    progress_ms: int | None = None
    """The time of the backend's newest report, in epoch milliseconds."""
    wait: RunWait = NO_WAIT
    """The newest wait of a run."""
    checkpoint: str | None = None
    """The newest conversation state of the backend, in its own text format."""
    feed: FeedRead | None = None
    """The newest position in the feed of a backend that goes on without this process; None for any other."""
    finalized: Finalized | None = None
    """The answer that the newest run handed in, unless another tool was called after it."""


if TYPE_CHECKING:
    from dataclasses import replace

    changed = replace

    def maker(record: type[RecordT]) -> type[RecordT]:
        """Return the constructor."""
        return record

else:

    def maker(record: type[RecordT]) -> Callable[..., RecordT]:
        """Return what does as the constructor, several times as fast: each start makes such records.

        It takes keywords only. `record` is a frozen dataclass without slots, factories and `__post_init__`.
        """
        blank = {each.name: None if each.default is MISSING else each.default for each in fields(record)}

        def make(**given: object) -> RecordT:
            new = object.__new__(record)
            object.__setattr__(new, "__dict__", blank | given)
            return new

        return make

    def changed(record: object, **changes: object) -> object:
        """Do what `dataclasses.replace` does, several times as fast: this is on the path of every streamed word."""
        new = object.__new__(type(record))
        object.__setattr__(new, "__dict__", record.__dict__ | changes)
        return new


def reported(activity: Activity, event: ActivityEvent, *, at_ms: int) -> Activity:  # noqa: C901, PLR0912  one arm an event
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
            used = activity.usage + ONE_TOOL_CALL  # as budgets count: one that is cut off was made too
            return changed(_called(activity, event, at_ms), finalized=final, open_calls=opened, usage=used)
        case ToolUpdated():
            return _called(activity, event, at_ms)
        case ToolEnded():
            still_open = tuple(call for call in activity.open_calls if call.call_id != event.call_id)
            has_begun = len(still_open) < len(activity.open_calls)
            return changed(
                _called(activity, event, at_ms),
                open_calls=still_open,
                usage=activity.usage if has_begun else activity.usage + ONE_TOOL_CALL,
                progress_ms=activity.progress_ms if event.status == "interrupted" else at_ms,
            )
        case UsageAdded():
            return changed(activity, progress_ms=at_ms, usage=activity.usage + event.usage)
        case FileChanged():
            files = activity.files if event.path in activity.files else (*activity.files, event.path)
            return changed(activity, progress_ms=at_ms, files=files)
        case WorkspaceKept():
            return changed(activity, workspace=event)
        case Checkpointed():
            return changed(activity, checkpoint=event.state)
        case Finalized():  # within its call: one that began since then has voided it
            return changed(activity, progress_ms=at_ms, finalized=_valid(event, activity.calls))
        case RequestHeld():
            return changed(activity, wait=RunWait(held=event))
        case RequestReleased():
            return changed(activity, wait=RunWait(over_ms=at_ms))
        case AgentEnded():
            events = (*activity.events, Recorded(at_ms=at_ms, event=event))[-activity.max_events :]
            return changed(activity, progress_ms=at_ms, events=events, event_total=activity.event_total + 1)


def charged(activity: Activity, event: AccountCharged) -> Activity:
    """Return the activity after something was charged to the task's account."""
    return changed(activity, account=(activity.account or NO_ACCOUNT).charged(event))


def begun(activity: Activity) -> Activity:
    """Return the activity when another run begins: what was said, handed in and waited for before is over."""
    if activity.is_speaking or activity.finalized or activity.feed or activity.wait is not NO_WAIT:
        return changed(activity, is_speaking=False, finalized=None, feed=None, wait=NO_WAIT)
    return activity


def run_ended(activity: Activity) -> Activity:
    """Return the activity when a run has ended: no call is open any more, and no request waits."""
    return changed(activity, open_calls=(), wait=NO_WAIT) if activity.open_calls or activity.wait.held else activity


def settled_later(activity: Activity, event: object) -> Activity:
    """Return the activity of a settled task after one more event: what becomes of its work, or was used all the same.

    A provider charges the request that a cancel cuts off, and tells how much when that is over.
    """
    match event:
        case WorkspaceKept():
            return changed(activity, workspace=event)
        case UsageAdded(usage=usage) if usage != NOTHING_USED:
            return changed(activity, usage=activity.usage + usage)
        case AccountCharged(usage=Usage()):
            return charged(activity, event)
        case _:
            return activity


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
