"""The answer of a task, or the partial work of one without an answer: whole, and cut for a reader.

Every view, the envelope and `read_result` cut an answer by `cut`, so that each says alike how much of it is shown, and
none cuts inside a character; `next_part` is for a reader who reads on. The limit is `outputMaxChars`; a program and a
person who asks for all of it give `WHOLE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.events import TextDelta
from ohm_subagents.contract.outcome import Failed
from ohm_subagents.contract.truncation import truncate

if TYPE_CHECKING:
    from ohm_subagents.contract.task import Task


class CutAnswer(NamedTuple):
    """The part of an answer that is shown.

    Fields:
        whole: the whole answer.
        shown: the part of it, which begins at `offset`; in code points, like all its lengths.
        offset: where the part begins.
        is_partial: the task has no answer, and this is what its assistant said.
    """

    whole: str
    shown: str
    offset: int = 0
    is_partial: bool = False

    @property
    def end(self) -> int:
        """Return where the part ends."""
        return self.offset + len(self.shown)

    @property
    def is_truncated(self) -> bool:
        """Return True if there is more after the part."""
        return self.offset + len(self.shown) < len(self.whole)

    @property
    def extent(self) -> str:
        """Say how much of the answer the part is; empty for all of it."""
        return f"truncated {len(self.shown)}/{len(self.whole)} chars" if self.is_truncated else ""


def cut(whole: str, limit: int, *, offset: int = 0, is_partial: bool = False) -> CutAnswer:
    """Cut an answer to `limit` code points from `offset` on, fewer rather than a part of a character."""
    rest = whole[offset:]
    return CutAnswer(whole, rest if len(rest) <= limit else truncate(rest, limit).text, offset, is_partial)


def cut_answer(task: Task, limit: int, *, offset: int = 0) -> CutAnswer:
    """Cut the answer of a task, or what its assistant said if it has none, from `offset` on."""
    answer = answer_of(task)
    return cut(answer or assistant_text(task), limit, offset=offset, is_partial=not answer)


def next_part(task: Task, limit: int, *, offset: int) -> CutAnswer:
    """Do the same for a reader who goes on where a part ends, and has to get to the end.

    A character as a reader sees it may be longer than the limit: an `e` with a thousand accents. Only such a one is
    given in pieces, each of `limit` code points.
    """
    part = cut_answer(task, limit, offset=offset)
    return part if part.shown else part._replace(shown=part.whole[offset : offset + limit])


def answer_of(task: Task) -> str:
    """Return the answer of a task that succeeded, or the part of one that a broken run left, or empty.

    One that was cancelled while it worked on a follow-up had answered before.
    """
    if task.status == "succeeded":
        return task.output
    is_broken_off = task.error is not None and task.error.code == ErrorCode.REHYDRATED_INCOMPLETE
    is_broken_off |= task.status == "cancelled" and bool(task.runs) and task.runs[-1].is_follow_up
    if task.status == "failed" and task.runs and isinstance(task.runs[-1].outcome, Failed):
        is_broken_off |= bool(task.runs[-1].output)
    return task.output if is_broken_off else ""


def assistant_text(task: Task) -> str:
    """Return the tail of what the assistant said, as far as its events are kept; empty when it said nothing.

    A task that ended without an answer tells all of it: partial work is not lost to the cap on events.
    """
    if has_no_answer(task) or len(task.activity.events) == task.activity.event_total:
        return task.text.strip()
    said: list[str] = []
    for earlier, recorded in zip((None, *task.activity.events), task.activity.events, strict=False):
        if isinstance(recorded.event, TextDelta):
            told_apart = said and earlier is not None and not isinstance(earlier.event, TextDelta)
            said.append(f"\n\n{recorded.event.text}" if told_apart else recorded.event.text)
    return "".join(said).strip()


def said_last(task: Task, all_of_it: str) -> tuple[str, str]:
    """Return the last paragraph that a task without an answer said, and the line above it; both empty for none.

    That is no answer, and does not look like one: the line says so, and by which command to read `all_of_it`.
    """
    paragraphs = [one for one in task.text.split("\n\n") if one.strip()]
    if not paragraphs:
        return "", ""
    earlier = len(paragraphs) - 1
    more = f" (after {earlier} earlier {'paragraph' if earlier == 1 else 'paragraphs'}: {all_of_it})" if earlier else ""
    return f"Said so far{more}:", paragraphs[-1].strip()


def has_no_answer(task: Task) -> bool:
    return task.status in {"failed", "cancelled"}
