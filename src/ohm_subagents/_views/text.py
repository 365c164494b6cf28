"""The text of a reply for a person."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import wrapped
from ohm_subagents._views.entries import (
    entry_of,
    entry_of_error,
    entry_of_missing,
    entry_of_refused,
    live_entry,
    title,
)
from ohm_subagents._views.status import task_line
from ohm_subagents._views.tree import EXPANDED, TAIL_ROWS, collapsed, marker, tree_lines
from ohm_subagents._views.widget import MAX_TASKS
from ohm_subagents.contract.replies import (
    Accepted,
    CancelReply,
    CommandRejected,
    ItemRejected,
    Missing,
    SendReply,
    StartReply,
    TasksReply,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._views.rows import Wording
    from ohm_subagents._views.tree import TreeEntry, TreeLimits
    from ohm_subagents.contract.replies import ItemReply, Reply
    from ohm_subagents.contract.task import Task

WIDTH: Final = 120


def view_text(
    reply: Reply,
    *,
    batch: bool,
    expanded: bool,
    output_max_chars: int,
    width: int = WIDTH,
    tail_rows: int = TAIL_ROWS,
    wording: Wording | None = None,
    now_ms: int | None = None,
) -> str:
    """Draw a reply for a person: as a tree, or as one line for each task that was started in the background.

    With `now_ms` it is a frame of a picture that moves.
    """
    limits = EXPANDED if expanded else collapsed(tail_rows)
    if now_ms is None:
        draw = partial(entry_of, expanded=expanded, output_max_chars=output_max_chars, wording=wording)
    else:
        draw = partial(
            live_entry, now_ms=now_ms, limits=limits, width=width, output_max_chars=output_max_chars, wording=wording
        )
    entries = entries_of(reply, draw, batch=batch)
    return drawn(reply, entries, batch=batch, limits=limits, width=width)


def drawn(reply: Reply, entries: list[TreeEntry], *, batch: bool, limits: TreeLimits, width: int) -> str:
    """The entries of a reply, and below them what is known of it as a whole."""
    is_active = limits is not EXPANDED and all(entry.is_active for entry in entries)
    if is_active and isinstance(reply, StartReply) and reply.background:
        lines = [part for entry in entries for part in wrapped(_background_line(entry), width)]
    else:
        lines = tree_lines(entries, limits=limits, width=width)
    for line in (*(_task_id_line(reply, batch=batch) if is_active else ()), *_footer(reply, batch=batch)):
        lines += wrapped(line, width)
    return "\n".join(lines)


def frame_head(reply: Reply, status: str, *, now_ms: int) -> str:
    """Return the head of a frame where no host shows it: the status line, and the progress of each task of the call."""
    at_work = [task for task in tasks_of(reply) if not task.is_terminal]
    return "\n".join([status, *(task_line(task, now_ms=now_ms) for task in at_work[:MAX_TASKS])])


def tasks_of(reply: Reply) -> list[Task]:
    """The tasks that a reply tells of."""
    match reply:
        case StartReply(items=items) | TasksReply(items=items):
            return [item.task for item in items if isinstance(item, Accepted)]
        case SendReply(task=task) | CancelReply(task=task):
            return [task]
        case CommandRejected():
            return []


def entries_of(reply: Reply, draw: Callable[[Task], TreeEntry], *, batch: bool) -> list[TreeEntry]:
    """One entry a task, or a refusal."""
    match reply:
        case CommandRejected(items=(asked,)) if not batch:
            return [_entry_of_rejected(replace(reply, profile=asked.profile_id, description=asked.description))]
        case CommandRejected():
            return [_entry_of_rejected(reply)]
        case StartReply(items=items) | TasksReply(items=items):
            is_list = batch or isinstance(reply, TasksReply)
            return [_entry(item, draw, position=at if is_list else None) for at, item in enumerate(items, start=1)]
        case SendReply(task=task, goes_on=True) if task.status == "succeeded":
            return [draw(task)._replace(status="running")]
        case SendReply(task=task, run=run, goes_on=goes_on) if task.status == "cancelled" or (goes_on and run is None):
            return [draw(task)._replace(result=task.summary)]
        case SendReply(task=task) | CancelReply(task=task):
            return [draw(task)]


def _entry_of_rejected(reply: CommandRejected) -> TreeEntry:
    if reply.profile is None:
        return entry_of_error(reply.error)
    description = reply.description or ""
    return entry_of_error(reply.error, title=title(reply.profile, description), prompt=description or None)


def _entry(item: ItemReply | Missing, draw: Callable[[Task], TreeEntry], *, position: int | None) -> TreeEntry:
    match item:
        case Accepted(task=task):
            return draw(task)
        case ItemRejected():
            return entry_of_refused(item, position=position)
        case Missing():
            return entry_of_missing(item)


def _background_line(entry: TreeEntry) -> str:
    waiting = "…" if entry.status == "queued" else marker(entry)
    return f"{waiting} {entry.title} · background"


def _task_id_line(reply: Reply, *, batch: bool) -> list[str]:
    match reply:
        case StartReply(items=(Accepted(task=task),)) if not batch:
            return [f"task_id: {task.id}"]
        case SendReply(task=task) | CancelReply(task=task):
            return [f"task_id: {task.id}"]
        case _:
            return []


def _footer(reply: Reply, *, batch: bool) -> list[str]:
    match reply:
        case TasksReply(wait_status="timeout" | "aborted" as over):
            return [f"wait: {over}"]
        case StartReply(items=items) if batch:
            return [f"batch: accepted {sum(isinstance(item, Accepted) for item in items)}/{len(items)}"]
        case _:
            return []
