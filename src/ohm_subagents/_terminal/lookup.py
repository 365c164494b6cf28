"""The kept task that is meant by what was typed: its id, or its beginning or end while no other has that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.stores import TaskQuery
from ohm_subagents._terminal.command import BAD_USAGE, TASK_FAILED, print_refusal, with_config
from ohm_subagents._views.cells import fit, one_line
from ohm_subagents._views.quantities import duration_text
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.commands import Op
    from ohm_subagents.contract.listed_task import ListedTask
    from ohm_subagents.contract.task import Task

NOTHING_KEPT: Final = 'Nothing is kept: subagents.store is "memory", so tasks are gone with the process that ran them.'
_NAMED: Final = 3
_TITLE_CELLS: Final = 40
_SHORT_CHARS: Final = 8
"""No id is shortened to less: what names one task today is to do so tomorrow."""


def find_task(typed: str, store: Store, config: OhmConfig, *, op: Op, file: Path | None, as_json: bool) -> Task | int:
    """Return the one task whose id begins or ends with what was typed; or say why there is none, and return a code.

    `file` is the ohm.json of `--config`.
    """
    alike: list[ListedTask] = []
    found = store.get(TaskId(typed))
    if isinstance(found, Err) and found.err_value.code == ErrorCode.UNKNOWN_TASK_ID:
        alike = tasks_alike(typed, store)
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
    return BAD_USAGE if len(alike) > 1 else TASK_FAILED


def tasks_alike(typed: str, store: Store) -> list[ListedTask]:
    """Return the tasks whose ids begin or end with what was typed, the newest first; none for an empty text."""
    return [one.ok_value for one in store.list(TaskQuery(id_part=typed)) if isinstance(one, Ok)] if typed else []


def short_id(task_id: str, store: Store) -> str:
    """Return the end of an id that is enough to name the task, as long as no other is kept that has it too."""
    parts = (task_id[-length:] for length in range(_SHORT_CHARS, len(task_id)))
    return next((part for part in parts if store.count(TaskQuery(id_part=part)) <= 1), task_id)


def _ambiguous(typed: str, alike: Sequence[ListedTask]) -> OhmError:
    quoted = ", ".join(f"'{one.id}' ({fit(one_line(one.description), _TITLE_CELLS)})" for one in alike[:_NAMED])
    more = f" and {len(alike) - _NAMED} more" if len(alike) > _NAMED else ""
    message = f"{len(alike)} ids begin or end with '{typed}': {quoted}{more}."
    return OhmError(code=ErrorCode.UNKNOWN_TASK_ID, message=message, advice="Type more of it.")


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
