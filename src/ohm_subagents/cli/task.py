"""`ohm task <id>`: one kept task, as a person, a pipe or a program wants it."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents._terminal.finished import finished_lines
from ohm_subagents._terminal.prompts import answer_hint
from ohm_subagents.cli.reading import STUCK, Accounts, event_fields, owner_of
from ohm_subagents.commands import (
    SUCCESS,
    TASK_FAILED,
    complain,
    find_task,
    is_terminal,
    print_json,
    print_json_lines,
    print_prose,
    print_styled,
    print_wrapped,
    prose_lines,
    system_clock,
    terminal_theme,
    width,
    with_config,
)
from ohm_subagents.contract.result import Ok
from ohm_subagents.contract.truncation import WHOLE, truncate
from ohm_subagents.store import TaskQuery
from ohm_subagents.views import (
    PLAIN,
    LiveTask,
    call_waits,
    concern_of,
    launch_fact_lines,
    one_line,
    patient_tasks,
    said_last,
    shown_error,
    state_text,
    task_envelope,
    task_fact_lines,
    transcript_lines,
    unheard,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import Request
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import Store
    from ohm_subagents.views import Theme

View: TypeAlias = "Callable[[Task, Store, OhmConfig], Awaitable[int]]"
_MOST_BELOW: Final = 200
_DEEPEST: Final = 20
_MOST_LINES: Final = 20
"""The most lines of an answer."""
_MOST_ASKED: Final = 3
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


async def tree(file: Path | None, task: Task, store: Store, config: OhmConfig) -> int:
    """Print the facts, the task as `ohm run` leaves it, or draws it while it works, its answer, how it was started.

    Last is what asks.

    `file` is the ohm.json of `--config`.
    """
    task = replace(task, activity=replace(task.activity, account=Accounts(store).of(task)))
    below = [*islice(tasks_below(task.id, store, 1), _MOST_BELOW)]
    columns = width() if is_terminal() else sys.maxsize
    where = owner_of(task, store)
    now_ms = system_clock()
    concern = concern_of(task, now_ms=now_ms, is_patient=task.id in patient_tasks(one.task for one in below))
    state = state_text(task, concern, now_ms=now_ms)
    facts = task_fact_lines(task, now_ms=now_ms, where=where, state=state, width=columns, with_launch=False)
    history = await store.history(task)
    waits = call_waits(history)
    lines = finished_lines(task, width=columns, theme=_theme(), below=below, waits=waits)
    print_styled("\n".join([*facts, "", *lines]))
    for one in unheard(history):
        print_wrapped(f"\nFollow-up, {one.words}: {one_line(one.prompt)}")
    if task.is_terminal:
        _print_end(task, config, file)
    if launch := launch_fact_lines(task, width=columns):
        print_styled("\n".join(["", *launch]))
    if is_terminal() and not task.is_terminal:
        asking = (task, *(one.task for one in below))
        _tell_requests([(one, request) for one in asking for request in one.requests], file)
    if concern == "stuck":
        complain(STUCK)
    return SUCCESS


def _print_end(task: Task, config: OhmConfig, file: Path | None) -> None:
    """Print the beginning of the answer, or of what was said, with the command that prints all of it; and the error."""
    line, said_so_far = said_last(task, with_config(f"ohm task {task.id} --transcript", file))
    said = task.output.strip("\n") or said_so_far
    if said:
        part = said if len(said) <= config.output_max_chars else truncate(said, config.output_max_chars).text
        shown = [*islice(prose_lines(part), _MOST_LINES + 1)]
        if len(shown) > _MOST_LINES or len(part) < len(said):
            view = "--output" if task.output else "--transcript"
            shown[_MOST_LINES:] = [f"… all of it: {with_config(f'ohm task {task.id} {view}', file)}"]
        print_styled("\n".join(["", *([] if task.output else [line]), *shown]))
    if task.error is not None:
        print_wrapped(f"\n{shown_error(task.error)}")


def _tell_requests(requests: Sequence[tuple[Task, Request]], file: Path | None) -> None:
    """Tell what is asked, and how to answer it."""
    for task, request in requests[:_MOST_ASKED]:
        complain(answer_hint(request, file, task=task))
    if len(requests) > _MOST_ASKED:
        complain(f"{len(requests) - _MOST_ASKED} more ask: {with_config('ohm requests', file)}")


def tasks_below(task_id: TaskId, store: Store, depth: int) -> Iterator[LiveTask]:
    """Yield the tasks that a task has started, each with those below it, the oldest first."""
    for listed in [one.ok_value for one in store.list(TaskQuery(parent=task_id)) if isinstance(one, Ok)][::-1]:
        found = store.get(listed.id)
        if isinstance(found, Ok):
            below = [*tasks_below(listed.id, store, depth + 1)] if depth < _DEEPEST else []
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
    columns = width() if is_terminal() else sys.maxsize
    print_styled("\n".join(transcript_lines(task, await store.history(task), theme=_theme(), width=columns)))
    return SUCCESS


async def _events(task: Task, store: Store, _config: OhmConfig) -> int:
    print_json_lines(map(event_fields, await store.history(task)))
    return SUCCESS


async def _envelope(task: Task, _: Store, _config: OhmConfig) -> int:
    print_json(task_envelope(task, output_max_chars=WHOLE).payload())
    return SUCCESS


VIEWS: Final[Mapping[str, View]] = MappingProxyType(
    {"--output": _output, "--transcript": _transcript, "--events": _events, "--json": _envelope}
)
