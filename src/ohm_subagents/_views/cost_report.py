"""The usage of tasks, added up by profile, model, day or session."""

from __future__ import annotations

import csv
import io
import sys
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, get_args

from ohm_subagents._records import dataclass
from ohm_subagents._views.account import price_text
from ohm_subagents._views.cells import cells, fit, fit_end, one_line
from ohm_subagents.contract.usage import NOTHING_USED, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from pydantic import JsonValue

    from ohm_subagents.contract.listed_task import ListedTask

CostKey = Literal["profile", "model", "day", "session"]
COST_KEYS: Final[tuple[CostKey, ...]] = get_args(CostKey)
_COLUMNS: Final = ("tasks", "requests", "tokens in", "cached", "tokens out", "tool calls", "cost")
_FIELDS: Final = ("tasks", "requests", "input_tokens", "cached_tokens", "output_tokens", "tool_calls", "cost_usd")
_LONGEST_NAME: Final = 48
_LEAST_NAME: Final = 20
_SPARE: Final = (4, 6, 2, 1)
"""The columns that go where there is no room, the first one first."""
_GAP: Final = 2
_UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """The own usage of all tasks with one profile, model, day or session."""

    name: str
    """The profile, `<provider>/<model>`, the day as `YYYY-MM-DD` in local time, or the session; `unknown` without."""
    tasks: int
    """The number of the tasks."""
    usage: Usage
    """The sum of what they used; what tasks below them used is theirs."""


def cost_rows(tasks: Iterable[ListedTask], by: CostKey) -> list[CostRow]:
    """Add up what tasks have used: days in order, anything else with the highest cost first."""
    found: dict[str, list[Usage]] = defaultdict(list)
    for task in tasks:
        found[_name_of(task, by)].append(task.usage)
    rows = [CostRow(name=name, tasks=len(used), usage=Usage.total(used)) for name, used in found.items()]
    if by == "day":
        return sorted(rows, key=lambda row: row.name)
    return sorted(rows, key=lambda row: (-(row.usage.cost_usd or 0), -row.usage.input_tokens, row.name))


def _name_of(task: ListedTask, by: CostKey) -> str:
    match by:
        case "profile":
            return task.profile
        case "model":
            return task.model or _UNKNOWN
        case "day":
            return datetime.fromtimestamp(task.created_ms / 1000, UTC).astimezone().date().isoformat()
        case "session":
            return task.session_id


def cost_table(rows: Sequence[CostRow], by: CostKey, *, width: int = sys.maxsize) -> list[str]:
    """Write rows as a table with a line of heads, and one of sums.

    Where `width` cells are not enough, names are cut, those of sessions at the front, and columns left out: first what
    was cached, then tool calls, requests and tasks. No number is cut.
    """
    used = sum((row.usage for row in rows), NOTHING_USED)
    total = CostRow(name="all", tasks=sum(row.tasks for row in rows), usage=used)
    cut = fit_end if by == "session" else fit
    lines = [(by, *_COLUMNS), *(_written(row, cut) for row in (*rows, total))]
    widths = [max(cells(line[at]) for line in lines) for at in range(len(_COLUMNS) + 1)]
    kept = {*range(1, len(widths))}
    for column in _SPARE:
        room = width - sum(widths[at] + _GAP for at in kept)
        if room >= min(widths[0], _LEAST_NAME):
            break
        kept.remove(column)
    room = max(1, width - sum(widths[at] + _GAP for at in kept))
    return [_aligned((cut(line[0], room), *line[1:]), [min(widths[0], room), *widths[1:]], kept) for line in lines]


def _written(row: CostRow, cut: Callable[[str, int], str]) -> tuple[str, ...]:
    used = row.usage
    numbers = (row.tasks, used.requests, used.input_tokens, used.cached_tokens, used.output_tokens, used.tool_calls)
    return cut(one_line(row.name), _LONGEST_NAME), *(f"{number:,}" for number in numbers), price_text(used) or "-"


def _aligned(line: Sequence[str], widths: Sequence[int], kept: Container[int]) -> str:
    name = line[0]
    numbers = [line[at].rjust(widths[at]) for at in range(1, len(line)) if at in kept]
    return (" " * _GAP).join([name + " " * (widths[0] - cells(name)), *numbers])


def cost_records(rows: Iterable[CostRow], by: CostKey) -> list[dict[str, JsonValue]]:
    """Return rows as plain JSON; costs are texts, exact to the last digit, and None where none is known."""
    return [
        {
            by: row.name,
            "tasks": row.tasks,
            "requests": row.usage.requests,
            "input_tokens": row.usage.input_tokens,
            "cached_tokens": row.usage.cached_tokens,
            "output_tokens": row.usage.output_tokens,
            "tool_calls": row.usage.tool_calls,
            "cost_usd": None if row.usage.cost_usd is None else str(row.usage.cost_usd),
        }
        for row in rows
    ]


def cost_csv(rows: Sequence[CostRow], by: CostKey) -> str:
    """Write rows as CSV with a line of heads; a name that a spreadsheet would take for a formula is put in quotes."""
    written = io.StringIO()
    writer: csv.DictWriter[str] = csv.DictWriter(written, [by, *_FIELDS], lineterminator="\n")
    writer.writeheader()
    for record in cost_records(rows, by):
        name = one_line(f"{record[by]}")
        writer.writerow({**record, by: f"'{name}" if name[:1] in {"=", "+", "-", "@"} else name})
    return written.getvalue().rstrip("\n")
