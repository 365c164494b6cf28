"""The usage of tasks, added up by profile, model, day or session."""

from __future__ import annotations

import csv
import io
import sys
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from ohm_subagents._records import dataclass
from ohm_subagents._views.account import UNPRICED, price_text, unpriced_tokens
from ohm_subagents._views.cells import cells, fit, fit_end, one_line
from ohm_subagents.contract.usage import NOTHING_USED, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pydantic import JsonValue

    from ohm_subagents.contract.listed_task import ListedTask

CostKey = Literal["profile", "model", "day", "session"]
COST_KEYS: Final[tuple[CostKey, ...]] = get_args(CostKey)
_LONGEST_NAME: Final = 48
_LEAST_NAME: Final = 20
_SPARE: Final = ("cached_tokens", "tool_calls", "requests", "tasks")
"""The columns that go where there is no room, the first one first."""
_GAP: Final = 2
_UNKNOWN: Final = "unknown"


class _Cells(NamedTuple):
    """The texts of one line of a table; its fields but the first are those of a record too."""

    name: str
    tasks: str
    requests: str
    input_tokens: str
    cached_tokens: str
    output_tokens: str
    tool_calls: str
    cost_usd: str


_HEADS: Final = _Cells(
    name="",
    tasks="tasks",
    requests="requests",
    input_tokens="tokens in",
    cached_tokens="cached",
    output_tokens="tokens out",
    tool_calls="tool calls",
    cost_usd="cost",
)
_NUMBERS: Final = _Cells._fields[1:]
"""The columns behind the name, which end at the right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """The own usage of all tasks with one profile, model, day or session."""

    name: str
    """The profile, `<provider>/<model>`, the day as `YYYY-MM-DD` in local time, or the session; `unknown` without."""
    tasks: int
    """The number of the tasks."""
    usage: Usage
    """The sum of what they used; what tasks below them used is theirs."""
    unpriced_tokens: int = 0
    """The tokens of those of them that no provider has told the cost of."""


def cost_rows(tasks: Iterable[ListedTask], by: CostKey) -> list[CostRow]:
    """Add up what tasks have used: days in order, anything else with the highest cost first."""
    found: dict[str, list[Usage]] = defaultdict(list)
    for task in tasks:
        found[_name_of(task, by)].append(task.usage)
    rows = [
        CostRow(name=name, tasks=len(used), usage=Usage.total(used), unpriced_tokens=unpriced_tokens(used))
        for name, used in found.items()
    ]
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
    """Write rows as a table with a line of heads, and one of sums; costs that leave tokens out say so below it.

    Where `width` cells are not enough, names are cut, those of sessions at the front, and columns left out: first what
    was cached, then tool calls, requests and tasks. No number is cut.
    """
    used = sum((row.usage for row in rows), NOTHING_USED)
    total = CostRow(name="all", tasks=sum(row.tasks for row in rows), usage=used)
    cut = fit_end if by == "session" else fit
    table = [_HEADS._replace(name=by), *(_written(row, cut) for row in (*rows, total))]
    longest, *others = (max(map(cells, texts)) for texts in zip(*table, strict=True))
    widths = dict(zip(_NUMBERS, others, strict=True))
    for column in _SPARE:
        if width - _taken(widths) >= min(longest, _LEAST_NAME):
            break
        del widths[column]
    room = max(1, width - _taken(widths))
    lines = [_aligned(line._replace(name=cut(line.name, room)), min(longest, room), widths) for line in table]
    unpriced = sum(row.unpriced_tokens for row in rows)
    return [*lines, f"without {unpriced:,} tokens {UNPRICED}"] if unpriced and used.cost_usd is not None else lines


def _taken(widths: Mapping[str, int]) -> int:
    """Return the cells that the columns behind the name take."""
    return sum(width + _GAP for width in widths.values())


def _written(row: CostRow, cut: Callable[[str, int], str]) -> _Cells:
    used = row.usage
    return _Cells(
        name=cut(one_line(row.name), _LONGEST_NAME),
        tasks=f"{row.tasks:,}",
        requests=f"{used.requests:,}",
        input_tokens=f"{used.input_tokens:,}",
        cached_tokens=f"{used.cached_tokens:,}",
        output_tokens=f"{used.output_tokens:,}",
        tool_calls=f"{used.tool_calls:,}",
        cost_usd=price_text(used) or "-",
    )


def _aligned(line: _Cells, room: int, widths: Mapping[str, int]) -> str:
    numbers = [text.rjust(widths[column]) for column, text in zip(_NUMBERS, line[1:], strict=True) if column in widths]
    return (" " * _GAP).join([line.name + " " * (room - cells(line.name)), *numbers])


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
    writer: csv.DictWriter[str] = csv.DictWriter(written, [by, *_NUMBERS], lineterminator="\n")
    writer.writeheader()
    for record in cost_records(rows, by):
        name = one_line(f"{record[by]}")
        writer.writerow({**record, by: f"'{name}" if name[:1] in {"=", "+", "-", "@"} else name})
    return written.getvalue().rstrip("\n")
