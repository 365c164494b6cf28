"""The lines of a reply as entries of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._views.answer import answer_of, assistant_text, cut
from ohm_subagents._views.cells import last_lines, printable
from ohm_subagents._views.reply_lines import TaskLine
from ohm_subagents._views.request_texts import asks_line
from ohm_subagents._views.task_texts import elapsed_ms, task_title, tool_rows
from ohm_subagents._views.tree import EXPANDED, MIN_WIDTH, PREFIX, TreeEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._views.reply_lines import ErrorLine
    from ohm_subagents._views.task_texts import Wording
    from ohm_subagents._views.tree import TreeLimits
    from ohm_subagents.contract.task import Task


def entry_of(task: Task, *, expanded: bool, output_max_chars: int, wording: Wording | None = None) -> TreeEntry:
    """Return a task with prompt, tool rows and result: the last line of the answer, or all lines when expanded.

    Its spinner does not turn: the same task always gives the same text.
    """
    return TreeEntry(
        status=task.status,
        title=task_title(task.assignment.profile, task.assignment.description) or task.summary,
        prompt=task.assignment.prompt.strip() or task.assignment.description.strip() or task.summary,
        rows=tool_rows(task, wording),
        result=_result(task, expanded=expanded, output_max_chars=output_max_chars),
    )


def live_entry(
    task: Task,
    *,
    now_ms: int,
    limits: TreeLimits,
    width: int,
    output_max_chars: int = 0,
    wording: Wording | None = None,
) -> TreeEntry:
    """Return a task of a picture that moves: the spinner turns, and what the subagent says is shown from its end."""
    entry = entry_of(task, expanded=limits == EXPANDED, output_max_chars=output_max_chars, wording=wording)
    if task.is_terminal or task.requests:
        return entry
    inner = max(MIN_WIDTH, width) - PREFIX
    said = last_lines(printable(assistant_text(task)), width=inner, limit=limits.result_lines)
    return entry._replace(result="\n".join(said) or entry.result, elapsed_ms=elapsed_ms(task, now_ms=now_ms))


def entry_of_line(line: TaskLine | ErrorLine, draw: Callable[[Task], TreeEntry]) -> TreeEntry:
    """Return the entry of a line, its task drawn by `draw`; an error without a title has its own, and says it once."""
    if not isinstance(line, TaskLine):
        headed = line.title or line.error.summary or line.error.message
        message = None if line.error.message == headed else line.error.message
        return TreeEntry(status="failed", title=headed, prompt=line.prompt, result=message)
    entry = draw(line.task)
    if line.result is None and line.status == entry.status:
        return entry
    return entry._replace(status=line.status, result=entry.result if line.result is None else line.result)


def _result(task: Task, *, expanded: bool, output_max_chars: int) -> str:
    """Return the text of the last child. Output is shown as it is, never parsed for tool lines."""
    if output := answer_of(task):
        return _answer(output, expanded=expanded, output_max_chars=output_max_chars)
    message = task.error.message if task.error else ""
    match task.status:
        case "queued" | "running":
            return "\n".join(map(asks_line, task.requests)) or "Working..."
        case "failed":
            return message or "Task failed."
        case "cancelled":
            return message or "Task cancelled."
        case "succeeded":
            return assistant_text(task) or message or task.summary


def _answer(output: str, *, expanded: bool, output_max_chars: int) -> str:
    """Return the last line that is not blank, or all of them when expanded, and how much was cut."""
    answer = cut(output, output_max_chars)
    lines = answer.shown.strip().splitlines()
    text = "\n".join(filter(None, map(str.strip, lines if expanded else lines[-1:])))
    return (text or "(no output)") + (f" ({answer.extent})" if answer.is_truncated else "")
