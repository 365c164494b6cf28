"""`ohm task <id>`: one kept task, as a person, a pipe or a program wants it."""

from __future__ import annotations

import sys
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents.cli.reading import STUCK, event_fields, owner_of
from ohm_subagents.commands import (
    SUCCESS,
    TASK_FAILED,
    complain,
    find_task,
    finished_lines,
    is_terminal,
    print_json,
    print_json_lines,
    print_prose,
    print_styled,
    system_clock,
    terminal_theme,
    width,
)
from ohm_subagents.contract.result import Ok
from ohm_subagents.contract.truncation import WHOLE
from ohm_subagents.store import TaskQuery
from ohm_subagents.views import (
    PLAIN,
    LiveTask,
    concern_of,
    task_envelope,
    task_fact_lines,
    transcript_lines,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import Store
    from ohm_subagents.views import Theme

View: TypeAlias = "Callable[[Task, Store, OhmConfig], Awaitable[int]]"
_MOST_BELOW: Final = 200
_DEEPEST: Final = 20
STATE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "queued": "is queued",
        "running": "is running",
        "succeeded": "has succeeded",
        "failed": "has failed",
        "cancelled": "was cancelled",
    }
)


async def print_task(
    typed: str, view: View, store: Store, config: OhmConfig, *, file: Path | None, as_json: bool
) -> int:
    """Print the one task whose id begins or ends with what was typed; return the exit code."""
    found = find_task(typed, store, config, op="status", file=file, as_json=as_json)
    return found if isinstance(found, int) else await view(found, store, config)


def _theme() -> Theme:
    return terminal_theme() if is_terminal() else PLAIN


async def _tree(task: Task, store: Store, _config: OhmConfig) -> int:
    """Print the task as `ohm run` leaves it, or draws it while it works; then the facts."""
    below = [*islice(_below(task.id, store, 1), _MOST_BELOW)]
    lines = finished_lines(task, width=width(), theme=_theme(), below=below)
    columns = width() if is_terminal() else sys.maxsize
    facts = task_fact_lines(task, now_ms=system_clock(), where=owner_of(task, store), width=columns)
    print_styled("\n".join([*lines, "", *facts]))
    is_patient = not all(one.task.is_terminal for one in below)
    if concern_of(task, now_ms=system_clock(), is_patient=is_patient) == "stuck":
        complain(STUCK)
    return SUCCESS


def _below(task_id: TaskId, store: Store, depth: int) -> Iterator[LiveTask]:
    """Yield the tasks that a task has started, each with those below it, the oldest first."""
    for listed in [one.ok_value for one in store.list(TaskQuery(parent=task_id)) if isinstance(one, Ok)][::-1]:
        found = store.get(listed.id)
        if isinstance(found, Ok):
            below = [*_below(listed.id, store, depth + 1)] if depth < _DEEPEST else []
            yield LiveTask(found.ok_value, depth=depth)
            yield from below


async def _output(task: Task, _: Store, _config: OhmConfig) -> int:
    if not task.output:
        said = f" What it said is in ohm task {task.id} --transcript." if task.text.strip() else ""
        complain(f"Task '{task.id}' has no answer; it {STATE[task.status]}.{said}")
        return TASK_FAILED
    print_prose(task.output)
    return SUCCESS


async def _transcript(task: Task, store: Store, _config: OhmConfig) -> int:
    print_styled("\n".join(transcript_lines(task, await store.history(task), theme=_theme())))
    return SUCCESS


async def _events(task: Task, store: Store, _config: OhmConfig) -> int:
    print_json_lines(map(event_fields, await store.history(task)))
    return SUCCESS


async def _envelope(task: Task, _: Store, _config: OhmConfig) -> int:
    print_json(task_envelope(task, output_max_chars=WHOLE).payload())
    return SUCCESS


VIEWS: Final[Mapping[str, View]] = MappingProxyType(
    {"": _tree, "--output": _output, "--transcript": _transcript, "--events": _events, "--json": _envelope}
)
