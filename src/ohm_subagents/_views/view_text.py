"""The text of a reply for a person."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import wrapped
from ohm_subagents._views.status import MAX_TASKS, task_line
from ohm_subagents._views.theme import PLAIN
from ohm_subagents._views.tree import EXPANDED, TAIL_ROWS, collapsed, marker, tree_lines
from ohm_subagents._views.tree_entries import entry_of, entry_of_line, live_entry

if TYPE_CHECKING:
    from ohm_subagents._views.reply_lines import ReplyLines
    from ohm_subagents._views.task_texts import Wording
    from ohm_subagents._views.theme import Theme
    from ohm_subagents._views.tree import TreeEntry, TreeLimits

WIDTH: Final = 120


def view_text(
    reply: ReplyLines,
    *,
    expanded: bool,
    output_max_chars: int,
    width: int = WIDTH,
    tail_rows: int = TAIL_ROWS,
    wording: Wording | None = None,
    now_ms: int | None = None,
    theme: Theme = PLAIN,
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
    return drawn(reply, [entry_of_line(line, draw) for line in reply.lines], limits=limits, width=width, theme=theme)


def drawn(reply: ReplyLines, entries: list[TreeEntry], *, limits: TreeLimits, width: int, theme: Theme = PLAIN) -> str:
    """Draw the entries of a reply, and below them what is known of it as a whole."""
    is_active = limits is not EXPANDED and all(entry.is_active for entry in entries)
    if is_active and reply.background:
        lines = [part for entry in entries for part in wrapped(_background_line(entry), width)]
    else:
        lines = tree_lines(entries, limits=limits, width=width, theme=theme)
    if is_active and not reply.is_list:
        for task in reply.tasks:
            lines += wrapped(f"task_id: {task.id}", width)
    if reply.footer:
        lines += wrapped(reply.footer, width)
    return "\n".join(lines)


def frame_head(reply: ReplyLines, status: str, *, now_ms: int) -> str:
    """Return the head of a frame where no host shows it: the status line, and the progress of each task of the call."""
    at_work = [task for task in reply.tasks if not task.is_terminal]
    return "\n".join([status, *(task_line(task, now_ms=now_ms) for task in at_work[:MAX_TASKS])])


def _background_line(entry: TreeEntry) -> str:
    waiting = "…" if entry.status == "queued" else marker(entry)
    return f"{waiting} {entry.title} · background"
