"""The tasks of all processes as a table for a screen: clocks and costs, sorted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from ohm_subagents._views.account import price_text, remaining_parts
from ohm_subagents._views.cells import cells, fit, one_line
from ohm_subagents._views.doing import doing_lines
from ohm_subagents._views.live_task import LiveTask, awaited_tasks, patient_tasks
from ohm_subagents._views.quantities import clock_text, cost_text, counted
from ohm_subagents._views.spans import BETWEEN, painted
from ohm_subagents._views.task_texts import STATUS_TOKENS, elapsed_ms
from ohm_subagents._views.tree_order import in_tree
from ohm_subagents._views.work_facts import (
    CONCERN_MARKS,
    CONCERNS,
    amiss_text,
    concern_of,
    state_mark,
    state_text,
)
from ohm_subagents.contract.listed_task import ListedTask  # noqa: TC001  the types of a public record are read at run time
from ohm_subagents.contract.task import Task  # noqa: TC001  likewise
from ohm_subagents.contract.usage import NOTHING_USED

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.theme import Theme
    from ohm_subagents._views.work_facts import Concern
    from ohm_subagents.contract.ids import TaskId

FleetSort = Literal["cost", "time", "tokens", "profile"]
FLEET_SORTS: Final[tuple[FleetSort, ...]] = get_args(FleetSort)
_HEADS: Final = ("", "id", "profile", "state", "process", "time", "requests", "tokens", "cost", "left", "task")
_LEFT: Final = frozenset({0, 1, 2, 3, 4, 9, 10})
"""The columns that begin at the left; numbers end at the right."""
_LONGEST: Final = 24
_SPARE: Final = (6, 4, 9, 7, 2)
"""The columns that go where there is no room, the first one first."""
_TOKENS: Final = 7
_COSTS: Final = 8
_BUDGETS: Final = 9
_WITH_BELOW: Final = "with below "
_LEAST_TITLE: Final = 24
_GAP: Final = 2
_HUNG, _BELOW = "   ╰ ", "     "
_MOST_ASKED: Final = 4
"""The most lines of what a task asks."""


class FleetRow(NamedTuple):
    """A task of any process."""

    task: ListedTask
    """The task as a list shows it."""
    where: str = ""
    """The process that runs it (`Store.owner`); empty for a settled one."""
    work: Task | None = None
    """All that is known of it, to tell of one that runs what it waits for or how long it has been quiet."""
    short_id: str = ""
    """As much of its id as names it; empty for the whole one."""
    depth: int = 0
    """The number of shown tasks that it is below."""


def fleet_lines(
    rows: Sequence[FleetRow],
    *,
    sort: FleetSort,
    now_ms: int,
    width: int,
    height: int,
    theme: Theme,
    with_work: bool = False,
) -> list[str]:
    """Draw a line of sums, one of heads, and one for each task, in at most `height` lines of `width` cells.

    Tasks that another one has started stand below it, indented, and are sorted among themselves.
    What a task used is that of its whole tree; the sums count each tree once, with those of its tasks that have ended.
    Where titles have no room, other columns give theirs: first requests, processes, what is left and tokens, then
    profiles. No number is cut. `with_work` tells below each task what it does or asks, where lines are left for that.
    """
    ids = {row.task.id for row in rows}
    sums = f"{_sums(rows, ids, now_ms)} · sorted by {sort}"
    if not rows:
        said = [("bold", sums)], [("dim", "Nothing waits or runs. What has ended is in: ohm tasks")]
        return [painted(line, width, theme) for line in said][: max(1, height)]
    ordered = _in_order(rows, sort, now_ms)
    room = max(0, height - 2)
    shown = ordered if len(ordered) <= room else ordered[: max(0, room - 1)]
    patient = patient_tasks(row.task for row in rows)
    written = (
        _written(row, now_ms, is_patient=row.task.id in patient, with_left=row.task.parent not in ids) for row in shown
    )
    table = [_HEADS, *written]
    widths, kept = _fitting(table, width)
    if _TOKENS not in kept:  # it is narrow, and the first line says that costs are of whole trees
        table = [(*line[:_COSTS], line[_COSTS].removeprefix(_WITH_BELOW), *line[_COSTS + 1 :]) for line in table]
        widths, kept = _fitting(table, width)
    lines = [painted([("bold", sums)], width, theme)]
    spare = height - 2 - len(ordered) if with_work else 0
    told = _work_lines(shown, patient, spare, now_ms, width) if spare > 0 else {}
    for line, row in zip(table, (None, *shown), strict=True):
        mark, *others = _padded(line, widths, kept)
        is_amiss = line[0] in CONCERN_MARKS.values()
        token = "muted" if row is None else "warning" if is_amiss else STATUS_TOKENS[row.task.status]
        lines.append(painted([(token, mark), ("muted" if row is None else "", "  ".join(["", *others]))], width, theme))
        lines += [painted(spans, width, theme) for spans in ([] if row is None else told.get(row.task.id, []))]
    if len(shown) < len(ordered):
        lines.append(painted([("dim", f"… and {len(ordered) - len(shown)} more")], width, theme))
    return lines[: max(1, height)]


def _padded(line: Sequence[str], widths: Sequence[int], kept: Container[int]) -> list[str]:
    """Return the cells of the columns that are kept, each as wide as its column."""
    return [
        text + " " * (space - cells(text)) if at in _LEFT else " " * (space - cells(text)) + text
        for at, (text, space) in enumerate(zip(line, (*widths, 0), strict=True))
        if at in kept
    ]


def _in_order(rows: Sequence[FleetRow], sort: FleetSort, now_ms: int) -> list[FleetRow]:
    tree = in_tree(sorted(rows, key=lambda row: _key(row, sort, now_ms)), lambda row: (row.task.id, row.task.parent))
    return [row._replace(depth=depth) for depth, row in tree]


def _sums(rows: Sequence[FleetRow], ids: Container[TaskId | None], now_ms: int) -> str:
    """Return how many tasks there are, how many run, ask or are stuck, and what they cost: each tree once."""
    patient = patient_tasks(row.task for row in rows)
    works = [(row.work, row.task.id in patient) for row in rows if row.work is not None]
    found = (concern_of(work, now_ms=now_ms, is_patient=is_patient) for work, is_patient in works)
    amiss = amiss_text(Counter(found))
    used = sum((row.task.tree_usage for row in rows if row.task.parent not in ids), NOTHING_USED)
    running = sum(row.task.status == "running" for row in rows)
    cost = "" if used.cost_usd is None else f" · {cost_text(used.cost_usd)} with all below"
    return f"{counted(len(rows), 'task')}, {running} running{f' ({amiss})' if amiss else ''}{cost}"


def _work_lines(
    rows: Sequence[FleetRow], patient: Container[TaskId | None], spare: int, now_ms: int, width: int
) -> dict[TaskId, list[list[Span]]]:
    """Return what tasks do or ask, in `spare` lines at most; those that need somebody have the first ones."""
    live = [LiveTask(row.work, is_patient=row.task.id in patient) for row in rows if row.work is not None]
    concerns: dict[TaskId, Concern | None] = {one.task.id: one.concern(now_ms=now_ms) for one in live}
    awaited = awaited_tasks((row.task for row in rows), concerns)
    live = [one._replace(awaited=awaited.get(one.task.id)) for one in live]
    live.sort(key=lambda one: (*CONCERNS, None).index(one.concern(now_ms=now_ms)))
    told: dict[TaskId, list[list[Span]]] = {}
    for number, one in enumerate(live[:spare]):
        room = min(_MOST_ASKED, spare - min(len(live), spare) + number + 1 - sum(map(len, told.values())))
        lines = doing_lines(one, now_ms=now_ms, width=max(1, width - len(_HUNG)), limit=room)
        told[one.task.id] = [[("dim", _BELOW if at else _HUNG), *line] for at, line in enumerate(lines)]
    return told


def _fitting(table: Sequence[Sequence[str]], width: int) -> tuple[list[int], set[int]]:
    """Return the widths of all columns but the title's, and those that leave room for a title."""
    widths = [max(cells(line[at]) for line in table) for at in range(len(_HEADS) - 1)]
    is_unlimited = widths[_BUDGETS] == len(_HEADS[_BUDGETS])
    kept = {*range(len(_HEADS))} - ({_BUDGETS} if is_unlimited else set())
    for column in _SPARE:
        if sum(widths[at] + _GAP for at in kept if at < len(widths)) + _LEAST_TITLE <= width:
            break
        kept.discard(column)
    return widths, kept


def _key(row: FleetRow, sort: FleetSort, now_ms: int) -> tuple[float, str]:
    used = row.task.tree_usage
    match sort:
        case "cost":
            return -float(used.cost_usd or 0), row.task.id
        case "time":
            return -elapsed_ms(row.task, now_ms=now_ms), row.task.id
        case "tokens":
            return -(used.input_tokens + used.output_tokens), row.task.id
        case "profile":
            return 0, f"{row.task.profile} {row.task.id}"


def _written(row: FleetRow, now_ms: int, *, is_patient: bool, with_left: bool) -> tuple[str, ...]:
    """Return the cells of a row; a task that waits for one of its own (`is_patient`) is never stuck.

    What is left of a budget is told of a tree, not again of what is below its top.
    """
    concern = None if row.work is None else concern_of(row.work, now_ms=now_ms, is_patient=is_patient)
    task, used = row.task, row.task.tree_usage
    taken_ms = elapsed_ms(task, now_ms=now_ms)
    left = [] if task.is_terminal else remaining_parts(task.account, at_ms=now_ms)
    return (
        state_mark(task.status, concern, elapsed_ms=taken_ms)[1],
        one_line(row.short_id or task.id),
        fit(one_line(task.profile), _LONGEST),
        task.status if row.work is None else state_text(row.work, concern, now_ms=now_ms),
        one_line(row.where),
        "-" if task.status == "queued" else clock_text(taken_ms),
        f"{used.requests:,}",
        f"{used.input_tokens + used.output_tokens:,}",
        f"{'' if used is task.usage else _WITH_BELOW}{price}" if (price := price_text(used)) else "-",
        BETWEEN.join(left) if with_left else "",
        "  " * row.depth + one_line(task.description),
    )
