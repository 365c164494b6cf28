"""The texts of a task that all views share: title, tool rows (from events, never from output), activity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents._views.answer import has_no_answer
from ohm_subagents._views.request_texts import asks_line
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.events import Event, ToolEnded, ToolStarted, ToolUpdated
from ohm_subagents.contract.listed_task import ListedTask
from ohm_subagents.contract.truncation import truncate

if TYPE_CHECKING:
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.task import Status, Task

Wording: TypeAlias = Callable[[str, str], str | None]
"""Returns a plugin's text for a tool with a payload (`ohm_tool_row`); None leaves it to us."""
STARTED: Final = "○"
UPDATED: Final = "…"
DONE: Final = "✓"
FAILED: Final = "✕"
STATUS_TOKENS: Final[Mapping[Status, str]] = MappingProxyType(
    {"queued": "muted", "running": "accent", "succeeded": "success", "failed": "error", "cancelled": "warning"}
)
"""The token of a theme for each status."""
NEVER_BEGUN: Final = "never started"
"""The words for a task that ended while it was queued."""
PAYLOAD_MAX_CHARS: Final = 90
_NEWEST_CHARS: Final = 400


def task_title(profile: str, description: str) -> str:
    """Return `<Type> · <description>`, or the one that there is."""
    kind = profile[:1].upper() + profile[1:]
    return f"{kind} · {description}" if kind and description else kind or description


def elapsed_ms(task: Task | ListedTask, *, now_ms: int) -> int:
    """Return the milliseconds that a task has worked, until now or its end; before that, those it has waited."""
    created_ms = task.created_ms if isinstance(task, ListedTask) else task.assignment.created_ms
    began = created_ms if task.started_ms is None else task.started_ms
    return max(0, (now_ms if task.ended_ms is None else task.ended_ms) - began)


def has_begun(task: Task | ListedTask) -> bool:
    """Return True if a task has worked, or works: one that ended while it was queued has not."""
    return task.status != "queued" and not (task.is_terminal and task.started_ms is None)


def shown_error(error: OhmError) -> OhmError:
    """Return an error in the words for people: the fixed ones for a task whose process has died are a program's."""
    if error.code != ErrorCode.REHYDRATED_INCOMPLETE:
        return error
    advice = f"`ohm run --resume {error.task_id}` goes on with it." if error.task_id else ""
    return replace(error, message="Its process died; what it did is kept.", advice=advice)


def failure_line(error: OhmError) -> str:
    """Return why a task has failed, for a line of a list; of one whose process has died, how to go on."""
    if error.code == ErrorCode.REHYDRATED_INCOMPLETE:
        return f"Its process died; ohm run --resume {error.task_id or '<id>'} goes on with what it did."
    return error.message


def tool_rows(task: Task, wording: Wording | None = None) -> tuple[str, ...]:
    """Write `○ <tool> <payload>` for a start, `…` for an update, `✓` or `✕` for an end, in the order of the events.

    Newlines inside a payload stay: this is the `tool_rows` of task.v1. A tree shows the first line of a row. They are
    those of the kept events, but for a task that ended without an answer, whose work they tell.
    """
    kept = task.activity.calls if has_no_answer(task) else task.activity.events
    if not kept:
        return ()
    rows = [tool_row(recorded.event, wording) for recorded in kept]
    return tuple([row for row in rows if row is not None])


def tool_row(event: Event, wording: Wording | None = None) -> str | None:
    """Write the row of one event, in a plugin's words if it has some; None for an event that is not about a tool."""
    match event:
        case ToolStarted(tool=tool, args=payload):
            return _row(STARTED, tool, payload, wording)
        case ToolUpdated(tool=tool, text=payload):
            return _row(UPDATED, tool, payload, wording)
        case ToolEnded(tool=tool, text=payload, status=status):
            return _row(DONE if status == "success" else FAILED, tool, payload, wording)
        case _:  # the other events are no tool events, and a new one is not either unless it is added above
            return None


def activity(task: Task) -> str | None:
    """Return one line: what a task that runs asks, its newest tool call, or the end of what it says; None for none."""
    if task.requests and not task.is_terminal:
        return asks_line(task.requests[0])
    if task.is_terminal or not task.activity.events:
        return None
    row = tool_row(task.activity.events[-1].event)
    if row is not None:
        return row.split("\n", 1)[0]
    newest = next((line.strip() for line in reversed(task.text[-_NEWEST_CHARS:].splitlines()) if line.strip()), None)
    return newest and truncate(newest, PAYLOAD_MAX_CHARS).text


def _row(marker: str, tool: str, payload: str, wording: Wording | None) -> str:
    worded = wording(tool, payload) if wording is not None else None
    if worded is not None:
        return f"{marker} {worded}"
    shown = payload.strip()
    if len(shown) > PAYLOAD_MAX_CHARS:
        shown = truncate(shown, PAYLOAD_MAX_CHARS - 1).text + "…"
    return f"{marker} {tool} {shown}".rstrip()
