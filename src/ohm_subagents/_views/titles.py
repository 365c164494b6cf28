"""The title of a task on a line, beside what is known of it in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import cells, fit, one_line
from ohm_subagents._views.doing import SAID_CHARS
from ohm_subagents._views.spans import Span, painted, span_cells
from ohm_subagents._views.task_texts import elapsed_ms, task_title
from ohm_subagents._views.tree import MIN_WIDTH
from ohm_subagents._views.work_facts import state_mark, work_facts

if TYPE_CHECKING:
    from ohm_subagents._views.live_task import LiveTask
    from ohm_subagents._views.theme import Theme
    from ohm_subagents._views.work_facts import WorkFacts
    from ohm_subagents.contract.task import Task

LEAST_TITLE: Final = 16
"""Cells of a title that numbers leave it."""
_FOLLOW_UP: Final = " (follow-up)"


def title_line(
    live: LiveTask,
    *,
    now_ms: int,
    width: int,
    theme: Theme,
    is_chosen: bool = False,
    with_kind: bool = True,
    with_left: bool = True,
) -> str:
    """Draw the title of a task; while it works with its time, tool calls, tokens, cost and what is left.

    There are fewer numbers where that leaves room for all of its title.
    """
    width = max(MIN_WIDTH, width)
    head = title_head(live, now_ms, is_chosen=is_chosen)
    shares = () if live.task.is_terminal else (width // 2, width // 3)
    tails = [facts_of(live, now_ms, share, with_left=with_left).spans for share in shares] or [[]]
    whole, room = span_cells(_title(live.task, width, with_kind=with_kind)), width - span_cells(head)
    fitting = (tail for least in (whole, LEAST_TITLE) for tail in tails if least + span_cells(tail) <= room)
    tail = whole_numbers(next(fitting, tails[-1]), room - LEAST_TITLE)
    title = fitting_title(live.task, head, tail, width, share=width, with_kind=with_kind)
    return painted([*head, *title, *tail], width, theme)


def fitting_title(
    task: Task, head: list[Span], numbers: list[Span], width: int, *, share: int, with_kind: bool
) -> list[Span]:
    """Return the title of a task in its share of a line; shorter, or without its type, where the numbers need room."""
    room = max(LEAST_TITLE, min(share, width - span_cells(numbers)) - span_cells(head))
    title = _title(task, room, with_kind=with_kind)
    is_too_wide = span_cells([*head, *title, *numbers]) > width
    return _title(task, room, with_kind=False) if is_too_wide else title


def whole_numbers(numbers: list[Span], room: int) -> list[Span]:
    """Return the first ones of these numbers that have room: none is cut."""
    while len(numbers) > 1 and span_cells(numbers) > room:
        numbers = numbers[:-1]
    return numbers


def facts_of(live: LiveTask, now_ms: int, room: int, *, with_left: bool = True) -> WorkFacts:
    """Return what is known of the work of a task in numbers, as much as has room."""
    return work_facts(live.task, now_ms=now_ms, room=room, is_patient=live.is_patient, with_left=with_left)


def title_head(live: LiveTask, now_ms: int, *, is_chosen: bool = False) -> list[Span]:
    """Return what stands before a title: the mark of a chosen task, room for its depth, and the mark of its state."""
    task, concern = live.task, live.concern(now_ms=now_ms)
    mark = state_mark(task.status, concern, elapsed_ms=elapsed_ms(task, now_ms=now_ms))
    return [("accent", "▸ " if is_chosen else "  "), ("", "  " * live.depth), mark, ("", " ")]


def _title(task: Task, room: int, *, with_kind: bool = True) -> list[Span]:
    asked = task.assignment
    kind, title = one_line(task_title(asked.profile, "")), one_line(asked.description[:SAID_CHARS])
    if not title:
        return [("bold", kind)]
    first: list[Span] = [("bold", kind), ("", " · ")] if with_kind else []
    room = max(LEAST_TITLE, room - span_cells(first))
    if asked.resumed_from is None:
        return [*first, ("", fit(title, room))]
    again = asked_again(task)
    again = again if cells(title + again) <= room else _FOLLOW_UP
    return [*first, ("", fit(title, max(LEAST_TITLE, room - cells(again))) + again)]


def asked_again(task: Task) -> str:
    """Return what stands behind the title of a task that goes on with another one: what it was asked."""
    asked = task.assignment
    prompt = one_line(asked.prompt[:SAID_CHARS])
    is_told = prompt == one_line(asked.description[:SAID_CHARS])
    return _FOLLOW_UP if is_told else f"{_FOLLOW_UP[:-1]}: {prompt})"
