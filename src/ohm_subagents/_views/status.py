"""The status line of a host, its live widget, and tasks in one or two lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import clip, printable
from ohm_subagents._views.task_texts import elapsed_ms
from ohm_subagents._views.tree import TreeLimits, status_marker, tree_lines
from ohm_subagents._views.tree_entries import live_entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract.task import Status, Task

WIDTH: Final = 100
MIN_WIDTH: Final = 4
MAX_TASKS: Final = 5
VERBOSE: Final = TreeLimits(prompt_lines=6, rows=8, result_lines=4)
COMPACT: Final = TreeLimits(prompt_lines=1, rows=2, result_lines=1)


def status_line(tasks: Iterable[Task]) -> str:
    """Write `subagents <n> running · tools <m> active · done <d> · failed <f> · cancelled <c>`, or `subagents idle …`.

    A queued task counts as running. Tools are the tool calls that are open right now, not backend runs. Tasks that wait
    for an answer are told at the end, as `· <n> asking` behind the work. It also heads the text of a progress
    frame where no host shows it.
    """
    counts: Counter[Status] = Counter()
    open_calls = asking = 0
    for task in tasks:
        asking += bool(task.requests)
        counts[task.status] += 1
        open_calls += len(task.activity.open_calls)
    running = counts["queued"] + counts["running"]
    work = f"{running} running · tools {open_calls} active" if running else "idle"
    work += f" · {asking} asking" if asking else ""
    return (
        f"subagents {work} · done {counts['succeeded']} · failed {counts['failed']} · cancelled {counts['cancelled']}"
    )


def task_line(task: Task, *, now_ms: int, width: int = WIDTH) -> str:
    """Write `<marker> <type> · <description> · mm:ss · tools <open>/<all>`, cut to `width` cells."""
    elapsed = elapsed_text(elapsed_ms(task, now_ms=now_ms))
    asked = f"{task.assignment.profile} · {task.assignment.description}"
    return _fitted(f"{_marker(task, now_ms)} {asked} · {elapsed} · tools {_calls(task)}", width)


def task_lines(task: Task, *, now_ms: int, width: int = WIDTH) -> tuple[str, str]:
    """Write `<marker> [<type>] <description>` and `  Tools <open>/<all> · Elapsed mm:ss`, each cut to `width` cells."""
    elapsed = elapsed_text(elapsed_ms(task, now_ms=now_ms))
    return (
        _fitted(f"{_marker(task, now_ms)} [{task.assignment.profile}] {task.assignment.description}", width),
        _fitted(f"  Tools {_calls(task)} · Elapsed {elapsed}", width),
    )


def widget_lines(
    tasks: Iterable[Task], *, now_ms: int, compact: bool, max_tasks: int = MAX_TASKS, width: int = WIDTH
) -> list[str]:
    """Draw the active tasks: running ones first, by their newest update; return no line once all have settled.

    What the subagent says is shown from its end. `now_ms` is the clock that stamped the tasks: it turns the spinner.
    """
    limits = COMPACT if compact else VERBOSE
    active = sorted(
        (task for task in tasks if not task.is_terminal), key=lambda task: (task.status == "queued", -task.updated_ms)
    )
    entries = [live_entry(task, now_ms=now_ms, limits=limits, width=width) for task in active[:max_tasks]]
    return tree_lines(entries, limits=limits, width=width)


def elapsed_text(elapsed_ms: int) -> str:
    """Write `mm:ss`; minutes do not roll over into hours."""
    minutes, seconds = divmod(max(0, elapsed_ms) // 1000, 60)
    return f"{minutes:02}:{seconds:02}"


def _marker(task: Task, now_ms: int) -> str:
    return status_marker(task.status, elapsed_ms(task, now_ms=now_ms))


def _calls(task: Task) -> str:
    return f"{len(task.activity.open_calls)}/{task.activity.usage.tool_calls}"


def _fitted(line: str, width: int) -> str:
    """Return one line; a width that leaves no room for anything is ignored."""
    shown = printable(line).replace("\n", " ")
    return clip(shown, width) if width >= MIN_WIDTH else shown
