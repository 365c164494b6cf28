"""The progress of a task in numbers: time, todos, cost, what is left, tool calls, tokens."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

from ohm_subagents._views.account import unpriced_text
from ohm_subagents._views.budget_left import left_spans
from ohm_subagents._views.cells import one_line
from ohm_subagents._views.quantities import clock_text, cost_text, counted
from ohm_subagents._views.spans import BETWEEN, span_cells
from ohm_subagents._views.task_texts import NEVER_BEGUN, STATUS_TOKENS, UPDATED, elapsed_ms, has_begun
from ohm_subagents._views.todo_count import TODO_TOOLS, todos_in
from ohm_subagents._views.tree import status_marker
from ohm_subagents.contract.events import ToolEnded
from ohm_subagents.contract.task import UNAVAILABLE, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents._views.spans import Span
    from ohm_subagents.contract.task import Task

Concern = Literal["asking", "stuck"]
CONCERNS: Final[tuple[Concern, ...]] = get_args(Concern)
State: TypeAlias = Concern | Status
"""The status of a task, or why it needs somebody."""
CONCERN_MARKS: Final[Mapping[Concern, str]] = MappingProxyType({"asking": "?", "stuck": "!"})
"""One character for each, in place of the one for the status."""
STUCK_RULE: Final = "! stuck: no progress for 30s; a long call may only be slow"
"""The rule in a line of a list."""
_TOLD: Final[tuple[State, ...]] = ("asking", "stuck", "failed", "running", "cancelled", "succeeded", "queued")
_SHOWN: Final[tuple[State, ...]] = ("asking", "stuck", "running", "failed", "queued", "cancelled", "succeeded")
_NARROW: Final = 24
"""Cells for numbers: with fewer there is little room."""
_WIDE: Final = 32
"""Cells for numbers: with as many there is room for words."""
_BELOW: Final = " +below"
_QUIET_MS: Final = 30_000
"""A task that has made no progress for so long says so."""


class WorkFacts(NamedTuple):
    """The progress of a task in numbers."""

    time: str = ""
    """The time that it has worked for; empty where that is not told."""
    others: tuple[Span, ...] = ()
    """The other numbers, each with ` · ` before it, those that matter most first."""

    @property
    def spans(self) -> list[Span]:
        """All of them, the time first."""
        return [*([("dim", f"{BETWEEN}{self.time}")] if self.time else []), *self.others]


def work_facts(task: Task, *, now_ms: int, room: int, is_patient: bool, with_left: bool = True) -> WorkFacts:
    """Return what is known of the work in numbers, as much as fits.

    First the time, then for how long it is stuck, and the budget that runs out next. One that has not begun has no
    time, and says so once it has ended; nor has one that is stuck, where there is little room.
    """
    usage = task.activity.tree_usage
    below = "" if usage is task.activity.usage else " with below" if room >= _WIDE else _BELOW
    tokens = usage.input_tokens + usage.output_tokens
    texts = _todos(task)
    unpriced = [*filter(None, [unpriced_text(task)])]
    texts += unpriced if usage.cost_usd is None else [cost_text(usage.cost_usd) + below]
    left = [] if task.is_terminal or not with_left else left_spans([task], at_ms=now_ms)
    scarce = [span for span in left[:1] if span[0] == "warning"]
    texts += [text for _, text in left[len(scarce) :]]
    texts += [] if usage.cost_usd is None else unpriced
    quiet = 0 if is_patient else quiet_ms(task, now_ms=now_ms)
    texts += [counted(usage.tool_calls, "tool")] if usage.tool_calls and not quiet else []
    texts += [f"{tokens:,} tokens"] if tokens else []
    texts += [one_line(f"{task.route.provider}/{task.route.model}")] if task.route.model != UNAVAILABLE else []
    is_timeless = not has_begun(task) or (quiet and room < _NARROW)
    time = "" if is_timeless else clock_text(elapsed_ms(task, now_ms=now_ms))
    amiss: list[Span] = [("warning", f" · stuck for {clock_text(quiet)}")] if quiet else []
    amiss += [("dim", f"{BETWEEN}{NEVER_BEGUN}")] if task.is_terminal and not has_begun(task) else []
    amiss += [(mark, f" · {text}") for mark, text in scarce]
    room -= len(BETWEEN) + len(time) if time else 0
    room += len(below) * (below == _BELOW)  # else it seems to be of one task
    others: list[Span] = []
    for text in texts:
        if span_cells(others) + len(text) + 3 > room:
            break
        others.append(("dim", f" · {text}"))
    return WorkFacts(time, (*amiss, *others))


def quiet_ms(task: Task, *, now_ms: int) -> int:
    """Return for how long a task that runs has made no progress; 0 for less than half a minute.

    It is 0 too while the task asks, or its model request waits for a slot, a provider or a budget.
    """
    if task.status != "running" or task.requests or task.activity.wait.held:
        return 0
    quiet = now_ms - (progress_at_ms(task) or now_ms)
    return quiet if quiet >= _QUIET_MS else 0


def progress_at_ms(task: Task) -> int | None:
    """Return when a task has last made progress or gone on after a wait; None before it has begun."""
    times = (task.started_ms, task.activity.progress_ms, task.activity.wait.over_ms)
    return max((at_ms for at_ms in times if at_ms is not None), default=None)


def concern_of(task: Task, *, now_ms: int, is_patient: bool = False) -> Concern | None:
    """Return why a task that runs needs somebody: it waits for an answer, or makes no progress; None for neither.

    A task that waits for one of its own (`is_patient`) is never stuck.
    """
    if task.requests and task.status == "running":
        return "asking"
    return "stuck" if not is_patient and quiet_ms(task, now_ms=now_ms) else None


def telling_rank(state: State) -> int:
    """Return the place of a task among those of which something is told below their rows: the first ones have lines.

    One that has failed is before those that work, for it says why; a queued one says nothing.
    """
    return _TOLD.index(state)


def sight_rank(state: State) -> int:
    """Return the place of a task among those that are shown: the first ones stay where there is not room for all.

    One that works is before one that has failed, which stays as it is, and a queued one before what ended otherwise.
    """
    return _SHOWN.index(state)


def amiss_text(counts: Mapping[str | None, int]) -> str:
    """Write how many tasks ask or are stuck, as `1 asking, 2 stuck`; empty for none."""
    return ", ".join(f"{counts[concern]} {concern}" for concern in CONCERNS if counts.get(concern))


def state_text(task: Task, concern: Concern | None, *, now_ms: int) -> str:
    """Return the status of a task, or why it needs somebody: `asking`, or for how long it has made no progress."""
    if concern == "stuck":
        return f"stuck for {clock_text(quiet_ms(task, now_ms=now_ms))}"
    return concern or task.status


def state_mark(status: Status, concern: Concern | None, *, elapsed_ms: int) -> Span:
    """Return the mark of a task in a list of several: of why it needs somebody, else of its status."""
    if concern is not None:
        return "warning", CONCERN_MARKS[concern]
    return STATUS_TOKENS[status], UPDATED if status == "queued" else status_marker(status, elapsed_ms)


def _todos(task: Task) -> list[str]:
    """Return how far the newest todo list is, unless all of it is done."""
    for recorded in reversed(task.activity.calls):
        event = recorded.event
        if isinstance(event, ToolEnded) and event.tool in TODO_TOOLS and (todos := todos_in(event.text)) is not None:
            return [] if todos.completed == todos.total else [f"{todos.completed}/{todos.total} todos"]
    return []
