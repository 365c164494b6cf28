"""The calls of tasks in words, never JSON; pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract import Approve, Deny, Text
from ohm_subagents.contract.requests import by_words
from ohm_subagents.ui.markup import plain
from ohm_subagents.views import CONCERNS, activity, answer_text, doing_text, named_call, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ohm_subagents.contract import Answer, AnsweredBy, ListedTask, Task
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.ui.shapes import Span
    from ohm_subagents.views import Concern

_CHARS: Final = 300
_SCOPES: Final[Mapping[str, str]] = {"call": "", "task": ", for this task", "always": ", always"}


def call_words(tool: str, args: str, cwd: str) -> str:
    """Return a call of a tool on one line: the tool, and what the call is about."""
    return one_line(f"{tool[:_CHARS]} {named_call(tool, args).subject(cwd)}")


def waited_words(children: Sequence[ListedTask], concerns: Mapping[TaskId, Concern]) -> str:
    """Return on one line for how many of the tasks that it has started one waits, and what is amiss with these."""
    waited = [child.id for child in children if not child.is_terminal]
    amiss = Counter(concerns[one] for one in waited if one in concerns)
    told = ", ".join(f"{amiss[concern]} {concern}" for concern in CONCERNS if amiss[concern])
    return f"Waits for {len(waited)} of {len(children)} tasks below{f': {told}' if told else ''}"


def answered_words(answer: Answer, by: AnsweredBy) -> str:
    """Return an answer and who gave it in a sentence."""
    where = by_words(by, "answer")
    match answer:
        case Text(text=text) if where:
            said = f"answered {where}: {text}"
        case Deny(reason=reason) if where:
            said = f"denied {where}{f': {reason}' if reason else ''}"
        case Approve(scope=scope) if where:
            said = f"approved {where}{_SCOPES[scope]}"
        case _:  # nobody did
            said = answer_text(answer, by)
    return one_line(said)


def _cancelled_words(task: Task) -> str:
    """Return when a task was cancelled, by its tool calls, and the end of what it had said."""
    calls = task.activity.usage.tool_calls
    when = "before it began" if task.started_ms is None else f"after {calls} tool call{'' if calls == 1 else 's'}"
    said = plain(doing_text(task, now_ms=task.updated_ms)[:_CHARS])
    return f"Cancelled {when}{f': {said}' if said else ''}"


def last_words(task: Task, spans: list[Span]) -> str:
    """Return on one line what a task does: what it waits for, its open tool call, or the end of what it says.

    Of one that has succeeded, the first paragraph of its answer; of one that was cancelled, how far it came; of a
    failed one, its summary.
    """
    if task.status == "cancelled":
        return _cancelled_words(task)
    if task.status == "succeeded":
        return plain(doing_text(task, now_ms=task.updated_ms)[:_CHARS]) or one_line(task.summary[:_CHARS])
    doing = next(
        (span for span in reversed(spans) if span["end_ms"] is None and span["kind"] in {"wait", "tool"}), None
    )
    if doing is not None and not task.is_terminal:
        return doing["label"]
    said = None if task.is_terminal or task.activity.open_calls else activity(task)
    called = next((span["label"] for span in reversed(spans) if span["kind"] == "tool"), "")
    is_called = said is not None and said[:1] in "○…✓✕"
    return one_line((called if is_called else said or task.summary)[:_CHARS])
