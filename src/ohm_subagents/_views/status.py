"""The status line of all tasks, and the short forms of one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import fit, printable
from ohm_subagents._views.tree import status_marker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract.task import Status, Task

WIDTH: Final = 100
MIN_WIDTH: Final = 4


def status_line(tasks: Iterable[Task]) -> str:
    """`subagents <n> running · tools <m> active · done <d> · failed <f> · cancelled <c>`, or `subagents idle · ...`.

    A queued task counts as running. Tools are the tool calls that are open right now, not backend runs. It also
    heads the text of a progress frame where no host shows it.
    """
    counts: Counter[Status] = Counter()
    open_calls = 0
    for task in tasks:
        counts[task.status] += 1
        open_calls += len(task.activity.open_calls)
    running = counts["queued"] + counts["running"]
    work = f"{running} running · tools {open_calls} active" if running else "idle"
    return (
        f"subagents {work} · done {counts['succeeded']} · failed {counts['failed']} · cancelled {counts['cancelled']}"
    )


def task_line(task: Task, *, now_ms: int, width: int = WIDTH) -> str:
    """`<marker> <type> · <description> · mm:ss · tools <open>/<all>`, cut to `width` cells."""
    elapsed = elapsed_text(elapsed_ms(task, now_ms=now_ms))
    asked = f"{task.assignment.profile} · {task.assignment.description}"
    return _fitted(f"{_marker(task, now_ms)} {asked} · {elapsed} · tools {_calls(task)}", width)


def task_lines(task: Task, *, now_ms: int, width: int = WIDTH) -> tuple[str, str]:
    """`<marker> [<type>] <description>` and `  Tools <open>/<all> · Elapsed mm:ss`, each cut to `width` cells."""
    elapsed = elapsed_text(elapsed_ms(task, now_ms=now_ms))
    return (
        _fitted(f"{_marker(task, now_ms)} [{task.assignment.profile}] {task.assignment.description}", width),
        _fitted(f"  Tools {_calls(task)} · Elapsed {elapsed}", width),
    )


def elapsed_ms(task: Task, *, now_ms: int) -> int:
    """Return the milliseconds that a task has worked, until now or its end; before that, those it has waited."""
    began = task.assignment.created_ms if task.started_ms is None else task.started_ms
    return max(0, (now_ms if task.ended_ms is None else task.ended_ms) - began)


def elapsed_text(elapsed_ms: int) -> str:
    """`mm:ss`; minutes do not roll over into hours."""
    minutes, seconds = divmod(max(0, elapsed_ms) // 1000, 60)
    return f"{minutes:02}:{seconds:02}"


def _marker(task: Task, now_ms: int) -> str:
    return status_marker(task.status, elapsed_ms(task, now_ms=now_ms))


def _calls(task: Task) -> str:
    return f"{len(task.activity.open_calls)}/{len(task.activity.open_calls) + task.activity.usage.tool_calls}"


def _fitted(line: str, width: int) -> str:
    """One line; a width that leaves no room for anything is ignored, as in the reference."""
    shown = printable(line).replace("\n", " ")
    return fit(shown, width) if width >= MIN_WIDTH else shown
