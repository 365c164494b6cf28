"""`ohm task <id>`: one kept task, as a person, a pipe or a program wants it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents._store.history import event_fields, history
from ohm_subagents._store.stored import Listing
from ohm_subagents._views.cells import printable, wrap
from ohm_subagents._views.listing import fact_lines, listed
from ohm_subagents._views.projection import project, project_task
from ohm_subagents._views.status import elapsed_ms
from ohm_subagents._views.transcript import transcript_lines
from ohm_subagents.cli.exits import BAD_USAGE, SUCCESS, TASK_FAILED, complain
from ohm_subagents.cli.live import finished_lines, running_lines
from ohm_subagents.cli.reading import NOTHING_KEPT
from ohm_subagents.cli.terminal import (
    is_terminal,
    print_json,
    print_json_lines,
    print_prose,
    print_text,
    width,
)
from ohm_subagents.contract.commands import Rejected
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.task import Task
from ohm_subagents.contract.truncation import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents.cli.registry import Registry

Show: TypeAlias = "Callable[[Task, Registry, OhmConfig], int]"
_CANDIDATES: Final = 10
_ROWS: Final = 40


def print_task(typed: str, show: Show, registry: Registry, config: OhmConfig, *, as_json: bool) -> int:
    """Print the one task whose id begins with what was typed; the exit code."""
    found, alike = registry.get(TaskId(typed)), list[Task]()
    if isinstance(found, Err) and found.err_value.code == ErrorCode.UNKNOWN_TASK_ID:
        alike = _beginning_with(typed, registry)
        found = registry.get(alike[0].id) if len(alike) == 1 else Err(_ambiguous(typed, alike)) if alike else found
    match found:
        case Ok(task):
            return show(task, registry, config)
        case Err(error):
            _print_error(_named(error, registry), typed, config, as_json=as_json)
    if len(alike) > 1 and not as_json:
        for task in alike[:_CANDIDATES]:
            complain(listed(task, now_ms=registry.now_ms)[0])
    return BAD_USAGE if len(alike) > 1 else TASK_FAILED


def _beginning_with(typed: str, registry: Registry) -> list[Task]:
    if not typed:
        return []
    return [one.ok_value for one in registry.outlines(Listing(beginning=typed)) if isinstance(one, Ok)]


def _ambiguous(typed: str, alike: list[Task]) -> OhmError:
    return OhmError(
        code=ErrorCode.UNKNOWN_TASK_ID,
        message=f"{len(alike)} ids begin with '{typed}'.",
        advice="Type more of it." if len(alike) <= _CANDIDATES else f"Type more of it. The newest {_CANDIDATES}:",
    )


def _named(error: OhmError, registry: Registry) -> OhmError:
    """The cause, where it is not the id."""
    return error if registry.place is not None else OhmError(code=error.code, message=NOTHING_KEPT)


def _print_error(error: OhmError, typed: str, config: OhmConfig, *, as_json: bool) -> None:
    if as_json:
        refused = Rejected(error=error, backend=config.subagent_backend, op="status", task_id=TaskId(typed))
        print_json(project(refused, batch=False, output_max_chars=config.output_max_chars).payload())
    else:
        complain(error)


def _tree(task: Task, registry: Registry, _config: OhmConfig) -> int:
    """As `ohm run` leaves it, or as it draws it while it works; then the facts."""
    if task.is_terminal:
        lines = finished_lines(task, width=width())
    else:
        taken_ms = elapsed_ms(task, now_ms=registry.now_ms)
        lines = running_lines(task, elapsed_ms=taken_ms, width=width(), height=_ROWS)
    facts = fact_lines(task, now_ms=registry.now_ms, where=registry.where(task))
    if is_terminal():
        facts = [line for fact in facts for line in wrap(printable(fact), width())]
    print_text("\n".join([*lines, "", *facts]))
    return SUCCESS


def _output(task: Task, _registry: Registry, _config: OhmConfig) -> int:
    if not task.output:
        said = f" What it said is in ohm task {task.id} --transcript." if task.text.strip() else ""
        complain(f"Task '{task.id}' has no answer; it is {task.status}.{said}")
        return TASK_FAILED
    print_prose(task.output)
    return SUCCESS


def _transcript(task: Task, registry: Registry, _config: OhmConfig) -> int:
    print_text("\n".join(transcript_lines(task, history(task, registry.transcript(task)))))
    return SUCCESS


def _events(task: Task, registry: Registry, _config: OhmConfig) -> int:
    print_json_lines(map(event_fields, history(task, registry.transcript(task))))
    return SUCCESS


def _envelope(task: Task, _registry: Registry, _config: OhmConfig) -> int:
    print_json(project_task(task, output_max_chars=WHOLE).payload())
    return SUCCESS


SHOWN: Final[Mapping[str, Show]] = MappingProxyType(
    {"": _tree, "--output": _output, "--transcript": _transcript, "--events": _events, "--json": _envelope}
)
