"""The text of a reply: the view for a person (task-v1, 17.2) and the text for the calling model (house 9.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._views.entries import entry_of, entry_of_error, entry_of_refused
from ohm_subagents._views.rows import assistant_text
from ohm_subagents._views.tree import EXPANDED, TAIL_ROWS, collapsed, marker, tree_lines
from ohm_subagents.contract.commands import Accepted, Refused, Rejected, Started
from ohm_subagents.contract.truncation import cap

if TYPE_CHECKING:
    from ohm_subagents._views.tree import TreeEntry
    from ohm_subagents.contract.commands import ItemReply
    from ohm_subagents.contract.task import Task

WIDTH: Final = 120


def view_text(
    reply: Started | Rejected,
    *,
    batch: bool,
    expanded: bool,
    output_max_chars: int,
    width: int = WIDTH,
    tail_rows: int = TAIL_ROWS,
) -> str:
    """What a person sees: the tree; while everything still runs, one line a task unless `expanded`."""
    items = reply.items if isinstance(reply, Started) else ()
    entries = (
        [entry_of_error(reply.error)]
        if isinstance(reply, Rejected)
        else [
            _entry(item, position=position if batch else None, expanded=expanded, output_max_chars=output_max_chars)
            for position, item in enumerate(items, start=1)
        ]
    )
    if not expanded and all(entry.is_active for entry in entries):
        ids = [f"task_id: {item.task.id}" for item in items if isinstance(item, Accepted)]
        lines = [_background_line(entry) for entry in entries] + ([] if batch else ids)
    else:
        lines = tree_lines(entries, limits=EXPANDED if expanded else collapsed(tail_rows), width=width)
    return "\n".join(lines + (_batch_line(items) if batch else []))


def model_text(reply: Started | Rejected, *, batch: bool, output_max_chars: int, width: int = WIDTH) -> str:
    """What the calling model reads: the tree, then every answer whole (up to the cap), error and partial work.

    †(Q54): the reference gives the model two wrapped lines of the answer and leaves the findings in `details`.
    """
    tree = view_text(reply, batch=batch, expanded=False, output_max_chars=output_max_chars, width=width)
    match reply:
        case Rejected(error=error):
            blocks = [f"error: {error}"]
        case Started(items=items):
            blocks = [block for item in items for block in _blocks(item, output_max_chars)]
    return "\n\n".join([tree, *blocks])


def _entry(item: ItemReply, *, position: int | None, expanded: bool, output_max_chars: int) -> TreeEntry:
    match item:
        case Accepted(task=task):
            return entry_of(task, expanded=expanded, output_max_chars=output_max_chars)
        case Refused():
            return entry_of_refused(item, position=position)


def _background_line(entry: TreeEntry) -> str:
    waiting = "…" if entry.status == "queued" else marker(entry)
    return f"{waiting} {entry.title} · background"


def _batch_line(items: tuple[ItemReply, ...]) -> list[str]:
    accepted = sum(isinstance(item, Accepted) for item in items)
    return [f"batch: accepted {accepted}/{len(items)}"] if items else []


def _blocks(item: ItemReply, output_max_chars: int) -> list[str]:
    match item:
        case Refused(error=error, item=asked):
            return [f"error ({asked.profile}): {error}"]
        case Accepted(task=task):
            return _task_blocks(task, output_max_chars)


def _task_blocks(task: Task, output_max_chars: int) -> list[str]:
    if not task.is_terminal:
        return []
    error = [] if task.error is None else [f"error ({task.id}): {task.error}"]
    answer = task.output or assistant_text(task)
    if not answer:
        return error
    heading = f"output ({task.id}" if task.output or task.status == "succeeded" else f"partial answer ({task.id}"
    return [*error, _capped_block(heading, answer, output_max_chars)]


def _capped_block(heading: str, text: str, output_max_chars: int) -> str:
    capped = cap(text, output_max_chars)
    cut = f", truncated {capped.returned_chars}/{capped.total_chars} chars" if capped.is_truncated else ""
    return f"{heading}{cut}):\n{capped.text}"
