"""The line that says what a task does now, or how it ended."""

from __future__ import annotations

import re
from itertools import chain, pairwise, starmap, takewhile
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.call_rows import call_row, call_words, seen_calls
from ohm_subagents._views.cells import one_line
from ohm_subagents._views.live_task import LiveTask
from ohm_subagents._views.spans import BETWEEN
from ohm_subagents._views.task_texts import failure_line, shown_error
from ohm_subagents._views.tree import SPINNER
from ohm_subagents._views.waits import asked_lines, awaited_text, below_line, model_line, wait_lines
from ohm_subagents.contract.outcome import Cancelled

if TYPE_CHECKING:
    from ohm_subagents._views.live_task import Awaited
    from ohm_subagents._views.spans import Span
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.task import Task

SAID_CHARS: Final = 4_000
"""As much of a text is looked at for a line, or some."""
_NOT_MADE: Final = "not made"
"""The beginning of the text of a call that nobody had approved when its task ended."""
_HEADING: Final = re.compile(r" {0,3}#{1,6} ")
_FENCE: Final = ("```", "~~~")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
"""The beginning of an item of a list."""
_WRAPPED: Final = 40
"""A line of so many characters may have been broken within a sentence."""
_ENDS: Final = ".!?,;"
_WORD: Final = re.compile(r"\w")
_MARKED: Final = re.compile(r"(\*\*|`)(?=\S)([^*`]+)(?<=\S)\1")
"""Words that Markdown makes bold, or code."""


def doing_text(task: Task, *, now_ms: int, is_patient: bool = False, awaited: Awaited | None = None) -> str:
    """Return on one line what a task that works does now, or waits for."""
    live = LiveTask(task, is_patient=is_patient, awaited=awaited)
    return "".join(text for _, text in doing_line(live, now_ms=now_ms)).lstrip(f"{''.join(SPINNER)} ")


def doing_lines(live: LiveTask, *, now_ms: int, width: int, limit: int) -> list[list[Span]]:
    """Return the same in a line, or what it asks in up to `limit` lines of `width` cells."""
    asked = asked_lines(live.task, width=width, limit=limit, with_ids=not live.is_answered_here)
    return asked or [doing_line(live, now_ms=now_ms)]


def doing_line(live: LiveTask, *, now_ms: int) -> list[Span]:
    """Return what a task does now, or how it ended, on one line."""
    task = live.task
    if task.is_terminal:
        if task.error:
            return [("error", one_line(failure_line(task.error)[:SAID_CHARS].split("\n", 1)[0]))]
        return [("dim", _told_last(task))]
    waiting = wait_lines(task) or [*filter(None, [below_line(live)])]
    if waiting:
        return waiting[0]
    if live.concern(now_ms=now_ms) == "stuck":
        return [("warning", awaited_text(task))]
    opened = [call for call in seen_calls(task.activity.calls) if call.status is None]
    if opened:
        return call_row(opened[-1], task, now_ms=now_ms, waits=live.waits)
    words = _newest_words(live.thinking or said_end(task))
    return model_line(task, now_ms=now_ms) or [("dim", words or "Working...")]


def why_failed(error: OhmError) -> list[Span]:
    """Return why a task has failed, and what to do about that, a line or more each."""
    told = shown_error(error)
    parts = [("error", one_line(told.message[:SAID_CHARS])), ("", one_line(told.advice[:SAID_CHARS]))]
    return [part for part in parts if part[1]]


def _told_last(task: Task) -> str:
    """Return what a task has answered or said last; of a cancelled one by whom, and in which call, or after what."""
    output = task.output[:SAID_CHARS]
    said = _first_paragraph(output) if output.strip() else _newest_words(task.text.strip()[-SAID_CHARS:])
    why = why_cancelled(task)
    if not why:
        return said
    cut_off = [call for call in seen_calls(task.activity.calls) if call.status in {None, "interrupted"}]
    if cut_off:
        words = "".join(text for _, text in call_words(cut_off[-1], task, took_ms=0))
        return f"{why} {'Before' if cut_off[-1].text.startswith(_NOT_MADE) else 'In'}{words}."
    verb = "answered" if output.strip() else "said"
    return f"{why} It {verb}: {said}" if said else why


def why_cancelled(task: Task) -> str:
    """Return by whom a task was cancelled, or for what reason, as far as that is kept; empty for any other."""
    if task.status != "cancelled":
        return ""
    ended = task.runs[-1].outcome if task.runs else None
    return one_line(ended.reason[:SAID_CHARS]) if isinstance(ended, Cancelled) else ""


def _first_paragraph(text: str) -> str:
    """Return the first paragraph on one line, without the marks of Markdown before its lines and around its words.

    A heading above it says what the title says; it counts where nothing else is there. One that ends with a colon leads
    to the next, which is told too.
    """
    lines = text.split("\n")
    worded = [at for at, line in enumerate(lines) if _WORD.search(line) and not _is_fence(line)]
    first = next((at for at in worded if not _HEADING.match(lines[at])), None)
    if first is None:
        return _unmarked(lines[worded[0]]) if worded else ""
    told = [*takewhile(_goes_on, lines[first:])]
    if told[-1].rstrip().endswith(":"):
        rest = lines[first + len(told) :]
        blank = [*takewhile(lambda line: _is_fence(line) or not _WORD.search(line), rest)]
        more = [*takewhile(_goes_on, rest[len(blank) :])]
        told += more[:1] if any(map(_is_fence, blank)) else more  # one line of code tells which it is
    between = chain([""], starmap(_between, pairwise(told)))
    return "".join(f"{mark}{_unmarked(line)}" for mark, line in zip(between, told, strict=True))


def _is_fence(line: str) -> bool:
    return line.lstrip().startswith(_FENCE)


def _goes_on(line: str) -> bool:
    return bool(_WORD.search(line)) and not _HEADING.match(line) and not _is_fence(line)


def _between(line: str, after: str) -> str:
    """Return what stands between two lines that are put side by side: a sign, unless the first goes on or has ended."""
    ended = line.rstrip()
    if ended.endswith(":") or not (_ITEM.match(after) or (len(line) < _WRAPPED and ended[-1] not in _ENDS)):
        return " "
    return BETWEEN


def _unmarked(line: str) -> str:
    return one_line(_MARKED.sub(r"\2", line).lstrip("#>*-+| \t"))


def _newest_words(text: str) -> str:
    """Return the last line that has a word in it."""
    return next((one_line(line) for line in reversed(text.split("\n")) if _WORD.search(line)), "")


def said_end(task: Task) -> str:
    """Return the end of what the assistant said, without joining all of it."""
    pieces: list[str] = []
    length = 0
    for piece in reversed(task.activity.said):
        pieces.append(piece[-SAID_CHARS:])
        length += len(piece)
        if length >= SAID_CHARS:
            break
    return "".join(reversed(pieces))
