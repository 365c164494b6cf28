"""Several tasks below each other, a line each; what one does or said has lines of its own where that has room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import cells
from ohm_subagents._views.doing import doing_line
from ohm_subagents._views.spans import BETWEEN, folded, painted, span_cells
from ohm_subagents._views.titles import facts_of, fitting_title, title_head, whole_numbers
from ohm_subagents._views.tree import BLANK, LAST, MIN_WIDTH, PREFIX
from ohm_subagents._views.waits import asked_lines
from ohm_subagents._views.work_facts import telling_rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents._views.live_task import LiveTask
    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.theme import Theme
    from ohm_subagents._views.work_facts import WorkFacts

    Lines = list[list[Span]]

_LEAST_SAID: Final = 6
"""Cells with less room than that are left empty, so that no number seems to be cut."""
_STEADY: Final = 60
"""Room on a line for whatever a task does next: its words change all the time, and no row jumps for that."""
_MORE_ASKED: Final = 2
"""A question has so many lines more than anything else."""


def brief_lines(
    tasks: Sequence[LiveTask],
    *,
    now_ms: int,
    width: int,
    theme: Theme,
    chosen: str | None = None,
    with_kind: bool = True,
    with_left: bool = True,
) -> list[str]:
    """Draw tasks in a line each: the title and the time below each other, other numbers, and what each does or said.

    `chosen` is the id of the task that is marked. Without `with_kind` no line tells a type, where all have the same;
    without `with_left` none what is left, where all share that.
    """
    rows = _Rows(tasks, now_ms=now_ms, width=width, chosen=chosen, with_kind=with_kind, with_left=with_left)
    return [line for block in rows.drawn(0, most=1, theme=theme) for line in block]


def brief_blocks(
    tasks: Sequence[LiveTask],
    *,
    free: int,
    now_ms: int,
    width: int,
    theme: Theme,
    most: int = 2,
    chosen: str | None = None,
    with_kind: bool = True,
    with_left: bool = True,
) -> list[list[str]]:
    """Draw tasks as `brief_lines` does; with `free` lines in all for what of these words does not fit, below each.

    One has at most so many, a question two more. The chosen task comes first, then those that ask, and those that have
    failed: each has all that it wants. Of those that are stuck or run, and those that ended otherwise, each has one
    before any has more. Words that change all the time have one or none by the room on their line, and all of them or
    none, so that nothing jumps between frames.
    """
    rows = _Rows(tasks, now_ms=now_ms, width=width, chosen=chosen, with_kind=with_kind, with_left=with_left)
    return rows.drawn(free, most=most, theme=theme)


class _Rows:
    def __init__(
        self,
        tasks: Sequence[LiveTask],
        *,
        now_ms: int,
        width: int,
        chosen: str | None,
        with_kind: bool,
        with_left: bool,
    ) -> None:
        self._tasks, self._now_ms, self._width = tasks, now_ms, max(MIN_WIDTH, width)
        self._chosen, self._with_kind = chosen, with_kind
        self._said = [doing_line(one, now_ms=now_ms) for one in tasks]
        self._facts = _aligned([facts_of(one, now_ms, self._width // 3, with_left=with_left) for one in tasks])
        self._alone = [self._title(at, self._width) for at in range(len(tasks))]
        # a wide screen has room for both
        self._cells = self._least = self._named(max(self._width * 2 // 5, self._width // 2 - 6))

    def drawn(self, free: int, *, most: int, theme: Theme) -> list[list[str]]:
        """Draw a block of lines for each task."""
        every = range(len(self._tasks))
        wanted = [0 if self._fits(at) else len(self._below(at, self._most(at, most))) for at in every]
        given = self._laid_out(wanted, free)
        crowded = [at for at in every if not given[at] and span_cells(self._alone[at]) > self._column]
        if crowded and sum(given) < free:  # what stands beside a title is not to cut it
            wanted = [len(self._below(at, self._most(at, most))) if at in crowded else wanted[at] for at in every]
            given = self._laid_out(wanted, free)
        blocks: list[list[str]] = []
        for at, live in enumerate(self._tasks):
            indent, below = "  " * live.depth, self._below(at, given[at])
            hung = [[("dim", indent + (BLANK if number else LAST)), *line] for number, line in enumerate(below)]
            first = self._head(at, is_alone=True) if hung else [*self._head(at), *self._beside(at)]
            blocks.append([painted(line, self._width, theme) for line in (first, *hung)])
        return blocks

    def _laid_out(self, wanted: Sequence[int], free: int) -> list[int]:
        """Deal lines out, and let titles have as much room as takes no words from one; return the lines of each."""
        given = self._given(wanted, free)
        least = span_cells(self._least[0]) if self._least else 0
        limits = [self._widest(at, least if wanted[at] else 0) for at, lines in enumerate(given) if not lines]
        self._cells = self._named(max(least, min(limits, default=self._width)))
        return given

    @property
    def _column(self) -> int:
        return span_cells(self._cells[0]) if self._cells else 0

    def _named(self, share: int) -> Lines:
        """Return mark and title of each, as wide as the widest."""
        named = [self._title(at, share) for at in range(len(self._tasks))]
        most = max(map(span_cells, named), default=0)
        return [_as_wide(cell, most) for cell in named]

    def _title(self, at: int, share: int) -> list[Span]:
        live = self._tasks[at]
        head = title_head(live, self._now_ms, is_chosen=live.task.id == self._chosen)
        title = fitting_title(live.task, head, self._facts[at], self._width, share=share, with_kind=self._with_kind)
        return [*head, *title]

    def _head(self, at: int, *, is_alone: bool = False) -> list[Span]:
        """Return all of a line but what the task does; that `is_alone` takes as much of the line as its title needs."""
        cell, numbers = self._cells[at], self._facts[at]
        if is_alone:
            column = min(self._column, self._width - span_cells(numbers))
            cell = _as_wide(self._alone[at], column)
        return [*cell, *whole_numbers(numbers, self._width - span_cells(cell))]

    def _room(self, at: int) -> int:
        return self._width - span_cells(self._head(at)) - cells(BETWEEN)

    def _beside(self, at: int) -> list[Span]:
        """Return what a task does now; what it asks without the id of the request, where that has no room or no use."""
        live, room = self._tasks[at], self._room(at)
        said = self._said[at]
        said = said[:1] if live.task.requests and (live.is_answered_here or span_cells(said) > room) else said
        return [("dim", BETWEEN), *said] if room >= _LEAST_SAID and span_cells(said) else []

    def _fits(self, at: int) -> bool:
        """Return True if a line has room for a title and for what the task does; a queued one has nothing to say."""
        live, said = self._tasks[at], self._said[at]
        taken = max(self._column, span_cells(self._alone[at])) + span_cells(self._facts[at]) + cells(BETWEEN)
        if self._is_moving(at):
            return taken + _STEADY <= self._width
        needed = span_cells(said[:1] if live.is_answered_here and live.task.requests else said)
        return live.task.status == "queued" or taken + needed <= self._width

    def _below(self, at: int, limit: int) -> Lines:
        """Return what a task does in `limit` lines at most, to be put below its own."""
        live, said = self._tasks[at], self._said[at]
        inner = max(1, self._width - 2 * live.depth - PREFIX)
        if not limit or live.task.status == "queued" or not span_cells(said):
            return []
        if live.task.requests:
            return asked_lines(live.task, width=inner, limit=limit, with_ids=not live.is_answered_here)
        return _cut(said, inner, 1 if self._is_moving(at) else limit)

    def _most(self, at: int, most: int) -> int:
        return most + _MORE_ASKED if self._tasks[at].task.requests else most

    def _is_moving(self, at: int) -> bool:
        live = self._tasks[at]
        is_held = live.task.activity.wait.held is not None
        return live.task.status == "running" and not is_held and live.concern(now_ms=self._now_ms) is None

    def _widest(self, at: int, least: int) -> int:
        """Return the cells that titles may have beside the words of one task; `least` if these are cut."""
        said = _STEADY if self._is_moving(at) else span_cells(self._said[at])
        return least or self._width - span_cells(self._facts[at]) - said - cells(BETWEEN)

    def _given(self, wanted: Sequence[int], free: int) -> list[int]:
        """Deal lines out: to those that ask or have failed all that they want, then one to each, then more.

        Those that run have one each or none: which of them has the longest words now is another one soon.
        """
        ranked = [at for at in sorted(range(len(wanted)), key=self._rank) if wanted[at]]
        first = [at for at in ranked if self._is_first(at)]
        given, free = _dealt(first, wanted, free, [0] * len(wanted), limit=max(wanted, default=0))
        others = [at for at in ranked if at not in first]
        moving = [at for at in others if self._is_moving(at)]
        if moving and others.index(moving[-1]) >= free:
            others = [at for at in others if at not in moving]
        for limit in (1, max(wanted, default=0)):
            given, free = _dealt(others, wanted, free, given, limit=limit)
        return given

    def _is_first(self, at: int) -> bool:
        task = self._tasks[at].task
        return task.id == self._chosen or bool(task.requests) or task.status == "failed"

    def _rank(self, at: int) -> tuple[bool, int]:
        live = self._tasks[at]
        return live.task.id != self._chosen, telling_rank(live.concern(now_ms=self._now_ms) or live.task.status)


def _dealt(
    among: Sequence[int], wanted: Sequence[int], free: int, given: Sequence[int], *, limit: int
) -> tuple[list[int], int]:
    """Give each of these as many of the free lines as it wants, up to a limit; return what all have, and the rest."""
    dealt = [*given]
    for at in among:
        more = max(0, min(wanted[at], limit, dealt[at] + free) - dealt[at])
        dealt[at] += more
        free -= more
    return dealt, free


def _cut(said: list[Span], width: int, most: int) -> Lines:
    """Return words in `most` lines at most, the last one marked where more follow."""
    if most == 1:
        return [said]
    lines = folded([(mark, text[: width * (most + 1)]) for mark, text in said], width, margin="")
    return lines if len(lines) <= most else [*lines[: most - 1], [*lines[most - 1], (said[-1][0], "…")]]


def _as_wide(cell: list[Span], width: int) -> list[Span]:
    return [*cell, ("", " " * (width - span_cells(cell)))]


def _aligned(facts: Sequence[WorkFacts]) -> Lines:
    """Let the times end below each other; a task without one has its other numbers at once."""
    most = max((len(one.time) for one in facts), default=0)
    return [one._replace(time=one.time and one.time.rjust(most)).spans for one in facts]
