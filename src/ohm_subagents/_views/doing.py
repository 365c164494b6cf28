"""The line that says what a task does now, or how it ended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.call_rows import call_row, seen_calls
from ohm_subagents._views.cells import one_line
from ohm_subagents._views.live_task import LiveTask
from ohm_subagents._views.task_texts import failure_line
from ohm_subagents._views.tree import SPINNER
from ohm_subagents._views.waits import asked_lines, awaited_text, below_line, wait_lines

if TYPE_CHECKING:
    from ohm_subagents._views.live_task import Awaited
    from ohm_subagents._views.spans import Span
    from ohm_subagents.contract.task import Task

SAID_CHARS: Final = 4_000
"""As much of a text is looked at for a line, or some."""
_HEADING: Final = re.compile(r" {0,3}#{1,6} ")
_FENCE: Final = ("```", "~~~")
_WORD: Final = re.compile(r"\w")
_MARKED: Final = re.compile(r"(\*\*|`)(?=\S)([^*`]+)(?<=\S)\1")
"""Words that Markdown makes bold, or code."""


def doing_text(task: Task, *, now_ms: int, is_patient: bool = False, awaited: Awaited | None = None) -> str:
    """Return on one line what a task that works does now, or waits for."""
    live = LiveTask(task, is_patient=is_patient, awaited=awaited)
    return "".join(text for _, text in doing_line(live, now_ms=now_ms)).lstrip(f"{''.join(SPINNER)} ")


def doing_lines(live: LiveTask, *, now_ms: int, width: int, limit: int) -> list[list[Span]]:
    """Return the same in a line, or what it asks in up to `limit` lines of `width` cells."""
    return asked_lines(live.task, width=width, limit=limit) or [doing_line(live, now_ms=now_ms)]


def doing_line(live: LiveTask, *, now_ms: int) -> list[Span]:
    """Return what a task does now, or how it ended, on one line."""
    task = live.task
    if task.is_terminal:
        if task.error:
            return [("error", one_line(failure_line(task.error)[:SAID_CHARS].split("\n", 1)[0]))]
        output = task.output[:SAID_CHARS]
        return [("dim", _first_words(output) if output.strip() else _newest_words(task.text.strip()[-SAID_CHARS:]))]
    waiting = wait_lines(task) or [*filter(None, [below_line(live)])]
    if waiting:
        return waiting[0]
    if live.concern(now_ms=now_ms) == "stuck":
        return [("warning", awaited_text(task))]
    opened = [call for call in seen_calls(task.activity.calls) if call.status is None]
    if opened:
        return call_row(opened[-1], task, now_ms=now_ms, waits=live.waits)
    words = _newest_words(live.thinking or said_end(task))
    return [("dim", words or "Working...")]


def _first_words(text: str) -> str:
    """Return the first line that has a word in it, without the marks of Markdown before it and around its words.

    A heading above it says what the title says; it counts where nothing else is there.
    """
    lines = [line for line in text.split("\n") if _WORD.search(line)]
    first, *others = [line for line in lines if not _HEADING.match(line)] or lines[:1] or [""]
    others = [line for line in others if not line.lstrip().startswith(_FENCE)]
    if first.rstrip().endswith(":"):  # it leads to what is said
        first = " ".join([first, *(line.lstrip("#>*-+| \t") for line in others[:1])])
    return one_line(_MARKED.sub(r"\2", first).lstrip("#>*-+ \t"))


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
