"""The text of a reply: the view for a person (task-v1, 17.2) and the text for the calling model (house 9.13)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import fit, one_line, wrapped
from ohm_subagents._views.entries import (
    answer_of,
    entry_of,
    entry_of_error,
    entry_of_missing,
    entry_of_refused,
    title,
)
from ohm_subagents._views.rows import assistant_text
from ohm_subagents._views.tree import EXPANDED, TAIL_ROWS, collapsed, marker, tree_lines
from ohm_subagents.contract.commands import Accepted, Missing, Refused, Rejected, Seen, Sent, Started, Stopped
from ohm_subagents.contract.truncation import truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents._views.rows import Wording
    from ohm_subagents._views.tree import TreeEntry
    from ohm_subagents.contract.commands import ItemReply, Reply
    from ohm_subagents.contract.errors import OhmError
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
) -> str:
    """What a person sees: the tree; while everything still runs, one line a task unless `expanded`."""
    draw = partial(entry_of, expanded=expanded, output_max_chars=output_max_chars, wording=wording)
    entries = _entries(reply, draw, batch=batch, expanded=expanded, output_max_chars=output_max_chars)
    if not expanded and all(entry.is_active for entry in entries):
        lines = [fit(one_line(_background_line(entry)), width) for entry in entries]
        lines += [line for told in _task_id_line(reply, batch=batch) for line in wrapped(told, width)]
    else:
        lines = tree_lines(entries, limits=EXPANDED if expanded else collapsed(tail_rows), width=width)
    return "\n".join([*lines, *(line for told in _footer(reply, batch=batch) for line in wrapped(told, width))])


def model_text(reply: Reply, *, batch: bool, output_max_chars: int, width: int = WIDTH) -> str:
    """What the calling model reads: the tree, then every answer whole (up to the cap), error and partial work.

    †(Q54): the reference gives the model two wrapped lines of the answer and leaves the findings in `details`.
    """
    tree = view_text(reply, batch=batch, expanded=False, output_max_chars=output_max_chars, width=width)
    return "\n\n".join([tree, *_blocks(reply, output_max_chars)])


def _entries(
    reply: Reply, draw: Callable[[Task], TreeEntry], *, batch: bool, expanded: bool, output_max_chars: int
) -> list[TreeEntry]:
    match reply:
        case Rejected(items=(asked,)) if not batch:
            return [_entry_of_rejected(replace(reply, profile=asked.profile, description=asked.description))]
        case Rejected():
            return [_entry_of_rejected(reply)]
        case Started(items=items) | Seen(items=items):
            is_list = batch or isinstance(reply, Seen)
            return [_entry(item, draw, position=at if is_list else None) for at, item in enumerate(items, start=1)]
        case Sent(task=task, goes_on=True) if task.status == "succeeded":
            return [replace(draw(task), status="running")]
        case Sent(task=task) | Stopped(task=task):
            return [draw(task)]


def _entry_of_rejected(reply: Rejected) -> TreeEntry:
    if reply.profile is None:
        return entry_of_error(reply.error)
    description = reply.description or ""
    return entry_of_error(reply.error, title=title(reply.profile, description), prompt=description)


def _entry(item: ItemReply | Missing, draw: Callable[[Task], TreeEntry], *, position: int | None) -> TreeEntry:
    match item:
        case Accepted(task=task):
            return draw(task)
        case Refused():
            return entry_of_refused(item, position=position)
        case Missing():
            return entry_of_missing(item)


def _background_line(entry: TreeEntry) -> str:
    waiting = "…" if entry.status == "queued" else marker(entry)
    return f"{waiting} {entry.title} · background"


def _task_id_line(reply: Reply, *, batch: bool) -> list[str]:
    match reply:
        case Started(items=(Accepted(task=task),)) if not batch:
            return [f"task_id: {task.id}"]
        case Sent(task=task) | Stopped(task=task):
            return [f"task_id: {task.id}"]
        case _:
            return []


def _footer(reply: Reply, *, batch: bool) -> list[str]:
    match reply:
        case Seen(wait_status="timeout" | "aborted" as over):
            return [f"wait: {over}"]
        case Started(items=items) if batch:
            return [f"batch: accepted {sum(isinstance(item, Accepted) for item in items)}/{len(items)}"]
        case _:
            return []


def _blocks(reply: Reply, output_max_chars: int) -> Iterable[str]:
    match reply:
        case Rejected(error=error):
            return _error_block("error", error)
        case Started(items=items) | Seen(items=items):
            return [block for item in items for block in _item_blocks(item, output_max_chars)]
        case Sent(task=task) | Stopped(task=task):
            return _task_blocks(task, output_max_chars)


def _item_blocks(item: ItemReply | Missing, output_max_chars: int) -> list[str]:
    match item:
        case Refused(error=error, item=asked):
            return _error_block(f"error ({asked.profile})", error)
        case Missing(id=task_id, error=error):
            return _error_block(f"error ({task_id})", error)
        case Accepted(task=task):
            return _task_blocks(task, output_max_chars)


def _task_blocks(task: Task, output_max_chars: int) -> list[str]:
    if not task.is_terminal:
        return []
    error = [] if task.error is None else _error_block(f"error ({task.id})", task.error)
    if output := answer_of(task):
        return [*error, _capped_block(f"output ({task.id}", output, output_max_chars)]
    said = assistant_text(task)
    partial = f"partial answer ({task.id}"
    return [*error, *([_capped_block(partial, said, output_max_chars)] if said else [])]


def _error_block(heading: str, error: OhmError) -> list[str]:
    """The whole sentence and what to do; the tree may have cut it."""
    return [f"{heading}: {error}"]


def _capped_block(heading: str, text: str, output_max_chars: int) -> str:
    capped = truncate(text, output_max_chars)
    cut = f", truncated {capped.returned_chars}/{capped.total_chars} chars" if capped.is_truncated else ""
    return f"{heading}{cut}):\n{capped.text}"
