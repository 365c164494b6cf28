"""`ohm task <id>`: one kept task, as a person, a pipe or a program wants it."""

from __future__ import annotations

from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents.cli.reading import NOTHING_KEPT, event_fields, owner_of
from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    TASK_FAILED,
    complain,
    finished_lines,
    is_terminal,
    print_json,
    print_json_lines,
    print_prose,
    print_refusal,
    print_styled,
    system_clock,
    terminal_theme,
    width,
    with_config,
)
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.listed_task import ListedTask
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.truncation import WHOLE
from ohm_subagents.store import TaskQuery
from ohm_subagents.views import (
    PLAIN,
    LiveTask,
    duration_text,
    printable,
    task_envelope,
    task_fact_lines,
    task_list_lines,
    transcript_lines,
    wrap,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract.commands import Op
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import Store
    from ohm_subagents.views import Theme

View: TypeAlias = "Callable[[Task, Store, OhmConfig], Awaitable[int]]"
_CANDIDATES: Final = 10
_MOST_BELOW: Final = 200
_DEEPEST: Final = 20
_NAMED: Final = 3
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
    """Print the one task whose id begins with what was typed; return the exit code."""
    found = find(typed, store, config, op="status", file=file, as_json=as_json)
    return found if isinstance(found, int) else await view(found, store, config)


def find(typed: str, store: Store, config: OhmConfig, *, op: Op, file: Path | None, as_json: bool) -> Task | int:
    """Return the one task whose id begins with what was typed; or say why there is none, and return the exit code.

    `file` is the ohm.json that was typed in place of the user's.
    """
    found, alike = store.get(TaskId(typed)), list[ListedTask]()
    if isinstance(found, Err) and found.err_value.code == ErrorCode.UNKNOWN_TASK_ID:
        alike = _beginning_with(typed, store)
        found = store.get(alike[0].id) if len(alike) == 1 else Err(_ambiguous(typed, alike)) if alike else found
    match found:
        case Ok(task):
            return task
        case Err(error):
            backend, task_id = config.subagent_backend, TaskId(typed)
            refused = CommandRejected(
                error=_named(error, task_id, store, config, file), backend=backend, op=op, task_id=task_id
            )
            print_refusal(refused, as_json=as_json)
    if len(alike) > 1 and not as_json:
        for candidate in alike[:_CANDIDATES]:
            complain(task_list_lines(candidate, now_ms=system_clock())[0])
    return BAD_USAGE if len(alike) > 1 else TASK_FAILED


def _beginning_with(typed: str, store: Store) -> list[ListedTask]:
    if not typed:
        return []
    return [one.ok_value for one in store.list(TaskQuery(id_prefix=typed)) if isinstance(one, Ok)]


def _ambiguous(typed: str, alike: list[ListedTask]) -> OhmError:
    return OhmError(
        code=ErrorCode.UNKNOWN_TASK_ID,
        message=f"{len(alike)} ids begin with '{typed}'.",
        advice="Type more of it." if len(alike) <= _CANDIDATES else f"Type more of it. The newest {_CANDIDATES}:",
    )


def _named(error: OhmError, task_id: TaskId, store: Store, config: OhmConfig, file: Path | None) -> OhmError:
    """Return the error with what helps to find a task that is not there, or the reason why nothing is kept."""
    if store.place is None:
        return OhmError(code=error.code, message=NOTHING_KEPT)
    if error.code != ErrorCode.UNKNOWN_TASK_ID or error.advice:
        return error
    if told := _of_session(task_id, store, file):
        return OhmError(code=error.code, message=f"'{task_id}' is no task, but a session.", advice=told)
    kept_for = duration_text(config.subagents.task_retention_ms)
    listing = with_config("ohm tasks", file)
    advice = f"`{listing}` lists those that are kept: each for {kept_for} after its end (subagents.taskRetentionMs)."
    return OhmError(code=error.code, message=f"{error.message}.", advice=advice)


def _of_session(typed: str, store: Store, file: Path | None) -> str:
    """Return which tasks have this id as their session, in a sentence; empty for none."""
    ids = [one.ok_value.id for one in store.list(TaskQuery(session=typed)) if isinstance(one, Ok)]
    if not ids:
        return ""
    shown = ", ".join(f"'{one}'" for one in ids[:_NAMED])
    listing = with_config(f"ohm tasks --session {typed}", file)
    more = f" and {len(ids) - _NAMED} more, which `{listing}` lists" if len(ids) > _NAMED else ""
    return f"Its {'task is' if len(ids) == 1 else 'tasks are'} {shown}{more}."


def _theme() -> Theme:
    return terminal_theme() if is_terminal() else PLAIN


async def _tree(task: Task, store: Store, _config: OhmConfig) -> int:
    """Print the task as `ohm run` leaves it, or draws it while it works; then the facts."""
    below = [*islice(_below(task.id, store, 1), _MOST_BELOW)]
    lines = finished_lines(task, width=width(), theme=_theme(), below=below)
    facts = task_fact_lines(task, now_ms=system_clock(), where=owner_of(task, store))
    if is_terminal():
        facts = [line for fact in facts for line in wrap(printable(fact), width())]
    print_styled("\n".join([*lines, "", *facts]))
    return SUCCESS


def _below(task_id: TaskId, store: Store, depth: int) -> Iterator[LiveTask]:
    """Yield the tasks that a task has started, each with those below it, the oldest first."""
    for listed in [one.ok_value for one in store.list(TaskQuery(parent=task_id)) if isinstance(one, Ok)][::-1]:
        found = store.get(listed.id)
        if isinstance(found, Ok):
            below = [*_below(listed.id, store, depth + 1)] if depth < _DEEPEST else []
            yield LiveTask(found.ok_value, depth=depth, is_patient=not all(one.task.is_terminal for one in below))
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
