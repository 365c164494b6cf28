"""Contract records as entries of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._views.cells import printable
from ohm_subagents._views.rows import assistant_text, tool_rows
from ohm_subagents._views.status import elapsed_ms
from ohm_subagents._views.tail import last_lines
from ohm_subagents._views.tree import EXPANDED, MIN_WIDTH, PREFIX, TreeEntry
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.events import Failed
from ohm_subagents.contract.truncation import truncate

if TYPE_CHECKING:
    from ohm_subagents._views.rows import Wording
    from ohm_subagents._views.tree import TreeLimits
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.replies import ItemRejected, Missing
    from ohm_subagents.contract.task import Task


def entry_of(task: Task, *, expanded: bool, output_max_chars: int, wording: Wording | None = None) -> TreeEntry:
    """A task: its prompt, its tool rows and its result: the last line of the answer, or all lines when expanded.

    Its spinner does not turn: the same task always gives the same text.
    """
    return TreeEntry(
        status=task.status,
        title=title(task.assignment.profile, task.assignment.description) or task.summary,
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
    """A task in a picture that moves: the spinner turns, and what the subagent says is shown from its end."""
    entry = entry_of(task, expanded=limits == EXPANDED, output_max_chars=output_max_chars, wording=wording)
    if task.is_terminal:
        return entry
    inner = max(MIN_WIDTH, width) - PREFIX
    said = last_lines(printable(assistant_text(task)), width=inner, limit=limits.result_lines)
    return entry._replace(result="\n".join(said) or entry.result, elapsed_ms=elapsed_ms(task, now_ms=now_ms))


def entry_of_refused(refused: ItemRejected, *, position: int | None = None) -> TreeEntry:
    """An item that never became a task; `position` is its place in a batch, from 1."""
    if position is not None:
        name = refused.error.task_id or f"task_batch_{position}"
        return entry_of_error(refused.error, title=f"Task {name}", prompt=f"Resolve task {name}")
    if refused.profile is None:
        return entry_of_error(refused.error)
    description = refused.item.description
    return entry_of_error(refused.error, title=title(refused.profile, description), prompt=description or None)


def entry_of_missing(missing: Missing) -> TreeEntry:
    """An id without a task."""
    return entry_of_error(missing.error, title=f"Task {missing.id}", prompt=f"Resolve task {missing.id}")


def entry_of_error(error: OhmError, *, title: str = "", prompt: str | None = None) -> TreeEntry:
    """A call that came to nothing: without a title it is called as its error, and no sentence is said twice."""
    summary = error.summary or error.message
    headed = title or summary
    result = error.message if error.message != headed else None
    return TreeEntry(status="failed", title=headed, prompt=prompt, result=result)


def title(profile: str, description: str) -> str:
    """`<Type> · <description>`, or the one that there is."""
    kind = profile[:1].upper() + profile[1:]
    return f"{kind} · {description}" if kind and description else kind or description


def _result(task: Task, *, expanded: bool, output_max_chars: int) -> str:
    """Return the text of the last child. Output is shown as it is, never parsed for tool lines."""
    if output := answer_of(task):
        return answer(output, expanded=expanded, output_max_chars=output_max_chars)
    message = task.error.message if task.error else ""
    match task.status:
        case "queued" | "running":
            return "Working..."
        case "failed":
            return message or "Task failed."
        case "cancelled":
            return message or "Task cancelled."
        case "succeeded":
            return assistant_text(task) or message or task.summary


def answer_of(task: Task) -> str:
    """The answer of a task that succeeded, or what there was of one when the run or its process broke off, or empty.

    One that was cancelled while it worked on a follow-up had answered before.
    """
    is_broken_off = task.error is not None and task.error.code == ErrorCode.REHYDRATED_INCOMPLETE
    is_broken_off |= task.status == "cancelled" and bool(task.runs) and task.runs[-1].is_follow_up
    if task.status == "failed" and task.runs and isinstance(task.runs[-1].outcome, Failed):
        is_broken_off |= bool(task.runs[-1].output)
    return task.output if task.status == "succeeded" or is_broken_off else ""


def answer(output: str, *, expanded: bool, output_max_chars: int) -> str:
    """The last line that says something, or all of them when expanded, and how much was cut."""
    capped = truncate(output, output_max_chars)
    lines = [told for line in capped.text.splitlines() if (told := line.strip())] or ["(no output)"]
    cut = f" (truncated {capped.returned_chars}/{capped.total_chars} chars)" if capped.is_truncated else ""
    return "\n".join(lines if expanded else lines[-1:]) + cut
