"""A kept task in a list, in two lines; and all facts about one, one a line."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.account import cost_texts, remaining_text, unpriced_text, used_text
from ohm_subagents._views.cells import cells, fit, one_line, printable, wrap
from ohm_subagents._views.changes import changes_text
from ohm_subagents._views.launch import launch_lines
from ohm_subagents._views.quantities import (
    age_text,
    clock_text,
    cost_text,
    counted,
    duration_text,
    instant_text,
    usage_parts,
)
from ohm_subagents._views.spans import BETWEEN, painted, span_cells, stacked
from ohm_subagents._views.state_counts import state_counts
from ohm_subagents._views.task_texts import elapsed_ms, shown_error, task_title
from ohm_subagents._views.theme import PLAIN
from ohm_subagents._views.verification import verification_lines
from ohm_subagents._views.waits import asked_lines, asked_times, request_words
from ohm_subagents._views.work_facts import state_mark
from ohm_subagents.contract.listed_task import NO_PROCESS
from ohm_subagents.contract.outcome import Cancelled
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.theme import Theme
    from ohm_subagents._views.work_facts import Concern, State
    from ohm_subagents.contract.listed_task import ListedTask
    from ohm_subagents.contract.task import Task

_LABEL: Final = 14
_WHY_CELLS: Final = 200
_WIDE: Final = 70
"""Cells of a line in which there is room for words beside numbers."""
_ASKED_LINES: Final = 5
_INDENT: Final = "  "
_BELOW: Final = "↳ "
_LANDED: Final = {"no": "", "clean": ", landed", "conflict": ", did not land", "discarded": ", discarded"}


def task_list_lines(
    task: ListedTask,
    *,
    now_ms: int,
    short_id: str = "",
    state: str = "",
    concern: Concern | None = None,
    where: str = "",
    why: str = "",
    asking: Task | None = None,
    with_cost: bool = False,
    unpriced: str = "",
    depth: int = 0,
    is_below: bool = False,
    width: int = sys.maxsize,
    theme: Theme = PLAIN,
) -> tuple[str, ...]:
    """`<marker> <id>  <type> · <description>`, then status, times, cost; as far as fits what it did and used.

    What it did has a line of its own, and why it failed two, where there is no room for all of it.
    `short_id` is as much of its id as names it, `state` stands for the status, `concern` for its mark, `where` is the
    process that runs it, `why` its error, or what it does; `asking` is the task if it asks something, which then has
    lines of its own. What it used is that of its tree. `with_cost` tells that in full, in words what is `unpriced`,
    and what is left, in as many lines as that needs. `depth` is the number of shown tasks that it is below; one that
    is only below others, which are not shown (`is_below`), is marked with `↳`. No number is cut.
    """
    taken_ms = elapsed_ms(task, now_ms=now_ms)
    if with_cost:
        own, *labelled = cost_texts(task, now_ms=now_ms, unpriced=unpriced)
        cost, used = own.split(BETWEEN), list[str]()
    else:
        labelled, (cost, used) = [], _tree_used(task, width)
    facts = [*_times(task, taken_ms, now_ms), *cost]
    reason = "" if asking is not None else fit(one_line(why), _WHY_CELLS)
    title = f"{_BELOW if is_below else ''}{one_line(task_title(task.profile, task.description))}"
    token, marker = state_mark(task.status, concern, elapsed_ms=taken_ms)
    margin = _INDENT * min(depth, width // 8)
    head: list[Span] = [("", margin), (token, marker), ("dim", f" {one_line(short_id or task.id)}"), ("", f" {title}")]
    room = max(1, width - len(margin) - len(_INDENT))
    lines = stacked([(token, _status_text(task, where, state)), *(("dim", text) for text in facts)], room)
    for text in labelled:
        lines = [*lines[:-1], *_below_label(lines[-1], text, room)]
    *_, last = lines
    lines[-1] = _beside(last, [*filter(None, [reason]), *used], room)
    if reason and lines[-1] == last:
        lines += [[("dim", line)] for line in _shortened(reason, room, 1 + (task.status == "failed"))]
    if asking is not None:
        lines += asked_lines(asking, width=room, limit=_ASKED_LINES)
    return painted(head, width, theme), *(painted([("", margin + _INDENT), *line], width, theme) for line in lines)


def _tree_used(task: ListedTask, width: int) -> tuple[list[str], list[str]]:
    """Return what a task cost with what is below it, and what else was used; the first of these says so."""
    used = usage_parts(replace(task.tree_usage, cost_usd=None))
    cost = [] if task.tree_usage.cost_usd is None else [cost_text(task.tree_usage.cost_usd)]
    if first := cost or used:
        first[0] += "" if task.tree_usage is task.usage else " with below" if width >= _WIDE else " +below"
    return cost, used


def list_counts(states: Sequence[State], *, of: int, left: int = 0, width: int, theme: Theme = PLAIN) -> str:
    """Count on one line the tasks of a list by their states, which are some `of` so many; `left` have no process.

    Where there is no room for all, the numbers of those that nobody has to look at are left out. No number is cut.
    """
    first = counted(of, "task") if of <= len(states) else f"{len(states)} of {counted(of, 'task')}"
    counts = [*state_counts(states, left=left).values()]
    while True:
        between = [("dim", ", ")] * (len(counts) - 1)
        spans = [span for pair in zip_longest(counts, between) for span in pair if span is not None]
        line: list[Span] = [("bold", f"{first}: "), *spans]
        if len(counts) <= 1 or span_cells(line) <= width:
            return painted(line, width, theme)
        del counts[-1]


def _below_label(line: list[Span], text: str, room: int) -> list[list[Span]]:
    """Return a line with a text that has a label at its end if all of it fits; else the text has lines of its own."""
    whole = [*line, ("dim", BETWEEN + text)]
    if span_cells(whole) <= room:
        return [whole]
    return [line, *stacked((("dim", part) for part in text.split(BETWEEN)), room)]


def _beside(line: list[Span], texts: Iterable[str], room: int) -> list[Span]:
    """Return a line with as many of these texts at its end, in their order, as fit."""
    for text in texts:
        if span_cells(line) + len(BETWEEN) + cells(text) > room:
            break
        line = [*line, ("dim", BETWEEN + text)]
    return line


def _shortened(words: str, width: int, most: int) -> list[str]:
    """Return words in `most` lines at most, the last one marked where more follow."""
    lines = [*islice(wrap(words, width), most)]
    for line in lines[:-1]:
        words = words[len(line) :].lstrip()
    return [*lines[:-1], fit(words, width)]


def _times(task: ListedTask, taken_ms: int, now_ms: int) -> list[str]:
    """Return how long ago a task was made or ended, and for how long it has worked; of one that works only that.

    One that ended before it began has not worked.
    """
    if task.ended_ms is None:
        return [f"created {age_text(now_ms - task.created_ms)}" if task.started_ms is None else clock_text(taken_ms)]
    took = [] if task.started_ms is None else [duration_text(taken_ms)]
    return [f"ended {age_text(now_ms - task.ended_ms)}", *took]


def _status_text(task: Task | ListedTask, where: str = "", state: str = "") -> str:
    """Return the status, and the process that works on it, if that is named."""
    said = state or task.status
    return f"{said}, {one_line(where)}" if where and not task.is_terminal else said


def task_fact_lines(
    task: Task,
    *,
    now_ms: int,
    where: str = "",
    state: str = "",
    width: int = sys.maxsize,
    with_launch: bool = True,
) -> list[str]:
    """Write all facts of a task beside its prompt, tool calls and answer; what does not apply is left out.

    A fact that is longer than `width` goes on below its beginning. `state` stands for the status (`state_text`).
    Without `with_launch` it leaves out how the task was started, which `launch_fact_lines` tells.
    """
    facts = [*_place(task, now_ms, where, state), *_facts(task, now_ms), *(_launch_facts(task) if with_launch else ())]
    return _labelled(facts, width)


def launch_fact_lines(task: Task, *, width: int = sys.maxsize) -> list[str]:
    """Write how a task was started, as `task_fact_lines` writes other facts; nothing where that is not known."""
    return _labelled(_launch_facts(task), width)


def _labelled(facts: Iterable[tuple[str, str]], width: int) -> list[str]:
    lines: list[str] = []
    for label, value in facts:
        first, *following = wrap(printable(value), max(_LABEL, width - _LABEL))
        lines += [f"{label:<{_LABEL}}{first}", *(" " * _LABEL + line for line in following)]
    return lines


def _facts(task: Task, now_ms: int) -> Iterator[tuple[str, str]]:
    yield "created", f"{instant_text(task.assignment.created_ms)}, {age_text(now_ms - task.assignment.created_ms)}"
    if task.started_ms is not None:
        yield "worked", f"{duration_text(elapsed_ms(task, now_ms=now_ms))} in {counted(len(task.runs), 'run')}"
    usage, tree, unpriced = task.activity.usage, task.activity.tree_usage, unpriced_text(task)
    if used := BETWEEN.join(filter(None, [used_text(usage), unpriced if tree is usage else ""])):
        yield "usage", used
    if tree is not usage:
        yield "with below", BETWEEN.join(filter(None, [used_text(tree), unpriced]))
    if left := remaining_text(task.activity.account, at_ms=task.updated_ms if task.is_terminal else now_ms):
        yield "left at end" if task.is_terminal else "left", left
    if task.stopped_by is not None:
        yield "stopped by", task.stopped_by + _since_progress(task)
    yield from _results(task)


def _place(task: Task, now_ms: int, where: str, state: str) -> Iterator[tuple[str, str]]:
    yield "task", task.id
    yield "status", _status_text(task, where, state)
    if task.error is not None:
        yield "error", f"{shown_error(task.error)} ({task.error.code})"
    if task.runs and isinstance(ended := task.runs[-1].outcome, Cancelled) and task.status == "cancelled":
        yield "cancelled", ended.reason
    if where == NO_PROCESS and task.assignment.outlives and task.launch is not None and not task.is_terminal:
        alone = "; until then its run goes on as far as it can alone" if task.runs else ""
        yield "waits for", f"the next program in {task.launch.cwd}, which takes it up{alone}"
    if task.requests:
        asked = ((f"{request_words(one)} ({one.id})", *asked_times(one, now_ms=now_ms)) for one in task.requests)
        yield "asks", "\n".join(map(BETWEEN.join, asked))
    yield "session", task.session_id
    if task.assignment.resumed_from is not None:
        yield "resumed from", task.assignment.resumed_from
    if task.assignment.parent is not None:
        yield "started by", task.assignment.parent
    yield "backend", task.assignment.backend
    route = task.route
    led = (("provider", route.provider), ("model", route.model), ("runtime", route.runtime), ("route", route.route))
    yield "route", ", ".join(f"{name} {value}" for name, value in led if value != UNAVAILABLE)
    if route.served_model and route.served_model != route.model:
        yield "served model", route.served_model
    if route.models_used:
        yield "models", ", then ".join(f"{one.model} ({one.why})" for one in route.models_used)


def _launch_facts(task: Task) -> Iterator[tuple[str, str]]:
    if task.launch is not None:
        yield "launch", "\n".join(launch_lines(task.launch))


def _results(task: Task) -> Iterator[tuple[str, str]]:
    if task.activity.files:
        yield "files", "\n".join(task.activity.files)
    if (kept := task.activity.workspace) is not None:
        yield (
            "workspace",
            f"{kept.ref}: {changes_text(kept)}{_LANDED[kept.landed]}",
        )
    if checks := list(verification_lines(task)):
        yield "verified", "\n".join(checks)
    if task.output:
        yield "answer", f"{len(task.output):,} characters"
    elif said := task.text.strip():
        length = f"{len(said):,} characters"
        yield ("no answer", f"only what it said so far, {length}") if task.is_terminal else ("said so far", length)
    for diagnostic in task.diagnostics:
        yield "diagnostic", str(diagnostic)


def _since_progress(task: Task) -> str:
    if task.activity.progress_ms is None:
        return ", without any progress"
    ended_ms = task.updated_ms if task.ended_ms is None else task.ended_ms
    return f"; the last progress was {duration_text(ended_ms - task.activity.progress_ms)} before the end"
