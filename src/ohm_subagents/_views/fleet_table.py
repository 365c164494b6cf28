"""The tasks of all processes as a table for a screen: clocks and costs, sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._views.account import left_out_text, price_text, remaining_parts
from ohm_subagents._views.cells import cells, fit, one_line
from ohm_subagents._views.fleet_room import in_sight
from ohm_subagents._views.fleet_row import fleet_order, fleet_states
from ohm_subagents._views.fleet_work import work_lines
from ohm_subagents._views.live_task import patient_tasks
from ohm_subagents._views.quantities import clock_text, cost_text, counted
from ohm_subagents._views.spans import BETWEEN, painted
from ohm_subagents._views.state_counts import calm_counts, state_counts, without_spare
from ohm_subagents._views.task_texts import STATUS_TOKENS, elapsed_ms, has_begun
from ohm_subagents._views.work_facts import (
    CONCERN_MARKS,
    concern_of,
    state_mark,
    state_text,
)
from ohm_subagents.contract.listed_task import NO_PROCESS
from ohm_subagents.contract.usage import NOTHING_USED

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from ohm_subagents._views.fleet_row import FleetRow, FleetSort
    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.ids import TaskId

_LONGEST: Final = 24
_SPARE: Final = ("requests", "process", "left", "tokens", "profile")
"""The columns that go where there is no room, the first one first."""
_NUMBERS: Final = frozenset({"time", "requests", "tokens", "cost"})
"""The columns that end at the right."""
_WITH_BELOW: Final = "with below "
_BELOW: Final = "+"
_LEAST_TITLE: Final = 24
_GAP: Final = 2
_HUNG: Final = 3
"""Cells from the mark of a row to its id."""
_MARGIN, _CHOSEN = "  ", "▸ "


class _Cells(NamedTuple):
    """The texts of one line of the table."""

    mark: str
    id: str
    profile: str
    state: str
    process: str
    time: str
    requests: str
    tokens: str
    cost: str
    left: str
    task: str
    """Last, so that it has the rest of the line."""


_HEADS: Final = _Cells(
    mark="",
    id="id",
    profile="profile",
    state="state",
    process="process",
    time="time",
    requests="requests",
    tokens="tokens",
    cost="cost",
    left="left",
    task="task",
)


def fleet_lines(
    rows: Sequence[FleetRow],
    *,
    sort: FleetSort,
    now_ms: int,
    width: int,
    height: int,
    theme: Theme,
    with_work: bool = False,
    chosen: str | None = None,
) -> list[str]:
    """Draw a line of sums, one of heads, and one for each task, in at most `height` lines of `width` cells.

    Tasks that another one has started stand below it, indented, and are sorted among themselves (`fleet_order`).
    Where there is no room for all, those that need nobody are left out first, and the last line counts them. What a
    task used is that of its whole tree; the sums count each tree once, with those of its tasks that have ended.
    Where titles have no room, other columns give theirs: first requests, processes, what is left and tokens, then
    profiles, and for how long a task is stuck. No number is cut. `with_work` tells below each task what it does or
    asks, or how it ended, where lines are left for that. `chosen` is the id of the task that is marked, and in sight;
    empty where one can be chosen.
    """
    ids = {row.listed.id for row in rows}
    sums = painted([("bold", fleet_sums(rows, now_ms=now_ms, width=width, sort=sort))], width, theme)
    if not rows:
        said = painted([("dim", "Nothing waits or runs. What has ended is in: ohm tasks")], width, theme)
        return [sums, said][: max(1, height)]
    ordered = fleet_order(rows, sort=sort, now_ms=now_ms)
    room, states = max(0, height - 2), fleet_states(rows, now_ms=now_ms)
    sight = in_sight(ordered, states, room=room, chosen=chosen, with_work=with_work)
    shown, margin = sight.shown, "" if chosen is None else _MARGIN
    patient = patient_tasks(row.listed for row in rows)
    written = [_written(row, now_ms, patient, with_left=row.listed.parent not in ids) for row in shown]
    heads, *table = _fitting([_HEADS, *written], width - len(margin))
    spare = room - sight.lines if with_work else 0
    hung = len(margin) + _HUNG
    told = work_lines(
        shown, rows, patient, spare=spare, now_ms=now_ms, width=width, margin=hung, has_keys=chosen is not None
    )
    lines = [sums, painted([("muted", margin + "  ".join(heads))], width, theme)]
    lines += [painted([("dim", f"{margin}… {sight.above} more above")], width, theme)] if sight.above else []
    for (mark, *others), row in zip(table, shown, strict=True):
        is_amiss, is_over = mark in CONCERN_MARKS.values(), row.listed.is_terminal
        head: list[Span] = [("accent", _CHOSEN if row.listed.id == chosen else margin)]
        head.append(("warning" if is_amiss else STATUS_TOKENS[row.listed.status], mark))
        lines.append(painted([*head, ("dim" if is_over else "", "  ".join(["", *others]))], width, theme))
        lines += [painted(spans, width, theme) for spans in told.get(row.listed.id, [])]
    if sight.rest:
        counts = ", ".join(text for _, text in state_counts(states[row.listed.id] for row in sight.rest).values())
        lines.append(painted([("dim", f"{margin}… and {len(sight.rest)} more: {counts}")], width, theme))
    return lines[: max(1, height)]


def fleet_sums(rows: Sequence[FleetRow], *, now_ms: int, width: int, sort: FleetSort | None = None) -> str:
    """Return how many tasks there are of each status, ask or are stuck, and what they cost: each tree once.

    Where there is no room, the order goes first, then what the cost counts, then the numbers of those that nobody has
    to look at. No number is cut.
    """
    ids, left = {row.listed.id for row in rows}, sum(row.where == NO_PROCESS for row in rows)
    counts = state_counts(fleet_states(rows, now_ms=now_ms).values(), left=left)
    used = sum((row.listed.tree_usage for row in rows if row.listed.parent not in ids), NOTHING_USED)
    first, *others = [text for _, text in counts.values()] or [""]
    cost = [] if used.cost_usd is None else [f"{BETWEEN}{cost_text(used.cost_usd)}"]
    more = [f" {left_out}"] if (left_out := left_out_text([row.listed.usage for row in rows])) else []
    more += [" with below"] if cost else []
    more += [] if sort is None else [f"{BETWEEN}sorted by {sort}"]
    head = counted(len(rows), "task") + (f": {first}" if first else "")
    parts = [head, *(f", {text}" for text in others), *cost, *more]
    spare = [*reversed(more), *(f", {text}" for _, text in calm_counts(counts))]
    return "".join(without_spare(parts, spare, lambda kept: cells("".join(kept)) <= width))


def _fitting(table: Sequence[_Cells], width: int) -> list[list[str]]:
    """Return the lines of a table with the columns that leave room for a title, each as wide as it has to be."""
    widths = _columns(table, width)
    if "requests" not in widths or _taken(widths) + max(cells(line.task) for line in table) > width:
        table = _marked(table)
        widths = _columns(table, width)
    if _taken(widths) + _LEAST_TITLE > width:  # the second line says what it waits for
        table = [line._replace(state=line.state.partition(" ")[0]) for line in table]
        widths = _columns(table, width)
    return [[*_aligned(line, widths), line.task] for line in table]


def _marked(table: Sequence[_Cells]) -> list[_Cells]:
    """Return the lines with a mark behind the costs that count what is below too, in place of words before them."""
    with_below = [line.cost.startswith(_WITH_BELOW) for line in table]
    blank = " " if any(with_below) else ""
    return [
        line._replace(cost=line.cost.removeprefix(_WITH_BELOW) + (_BELOW if is_marked else blank))
        for line, is_marked in zip(table, with_below, strict=True)
    ]


def _aligned(line: _Cells, widths: Mapping[str, int]) -> Iterator[str]:
    for column, text in zip(_Cells._fields, line, strict=True):
        if column in widths:
            space = " " * (widths[column] - cells(text))
            yield space + text if column in _NUMBERS else text + space


def _columns(table: Sequence[_Cells], width: int) -> dict[str, int]:
    """Return the columns that leave room for a title, all but its own, with their widths."""
    columns = zip(_Cells._fields[:-1], zip(*table, strict=True), strict=False)
    widths = {column: max(map(cells, texts)) for column, texts in columns}
    if widths["left"] == cells(_HEADS.left):  # nothing limits any of them
        del widths["left"]
    least = max(_LEAST_TITLE, min(max(cells(line.task) for line in table), width // 3))
    for column in _SPARE:
        if _taken(widths) + least <= width:
            break
        widths.pop(column, None)
    return widths


def _taken(widths: Mapping[str, int]) -> int:
    """Return the cells that the columns before the title take."""
    return sum(width + _GAP for width in widths.values())


def _written(row: FleetRow, now_ms: int, patient: Container[TaskId | None], *, with_left: bool) -> _Cells:
    """Return the cells of a row; a task that waits for one of its own (`patient`) is never stuck.

    What is left of a budget is told of a tree, not again of what is below its top.
    """
    concern = None if row.task is None else concern_of(row.task, now_ms=now_ms, is_patient=row.listed.id in patient)
    listed, used = row.listed, row.listed.tree_usage
    taken_ms = elapsed_ms(listed, now_ms=now_ms)
    left = [] if listed.is_terminal else remaining_parts(listed.account, at_ms=now_ms)
    return _Cells(
        mark=state_mark(listed.status, concern, elapsed_ms=taken_ms)[1],
        id=one_line(row.short_id or listed.id),
        profile=fit(one_line(listed.profile), _LONGEST),
        state=listed.status if row.task is None else state_text(row.task, concern, now_ms=now_ms),
        process=one_line(row.where),
        time=clock_text(taken_ms) if has_begun(listed) else "-",
        requests=f"{used.requests:,}",
        tokens=f"{used.input_tokens + used.output_tokens:,}",
        cost=f"{'' if used is listed.usage else _WITH_BELOW}{price}" if (price := price_text(used)) else "-",
        left=BETWEEN.join(left) if with_left else "",
        task="  " * row.depth + one_line(listed.description),
    )
