"""`ohm tasks export`: everything that is kept, a task a line."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from ohm_subagents._terminal.lookup import NOTHING_KEPT
from ohm_subagents.cli.reading import event_fields
from ohm_subagents.commands import BAD_USAGE, SUCCESS, TASK_FAILED, complain, json_line, print_json_lines, print_text
from ohm_subagents.contract.ids import SessionId
from ohm_subagents.contract.task import Run
from ohm_subagents.contract.truncation import WHOLE
from ohm_subagents.views import task_envelope

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from typing import BinaryIO

    from pydantic import JsonValue

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import Task
    from ohm_subagents.store import Store

VERSION: Final = "ohm.tasks.v1"
"""The version of a line. A reader ignores keys that it does not know, so additions need no new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The options of `ohm tasks export`, as typed."""

    session: str | None
    file: Path | None
    force: bool
    with_checkpoints: bool


async def export_tasks(wanted: Export, store: Store, _config: OhmConfig) -> int:
    """Write the tasks to standard output, or whole or not at all to a file; return the exit code."""
    if store.place is None:
        complain(NOTHING_KEPT)
    if wanted.file is None:
        async for fields in _exported(wanted, store):
            print_json_lines([fields])
        return SUCCESS
    count = 0
    try:
        with _new_file(wanted.file, force=wanted.force) as stream:
            async for fields in _exported(wanted, store):
                stream.write(f"{json_line(fields)}\n".encode())
                count += 1
    except FileExistsError:
        complain(f"The file '{wanted.file}' exists. Type another name, or --force to replace it.")
        return BAD_USAGE
    except OSError as exc:
        complain(f"The file '{wanted.file}' cannot be written: {exc.strerror}.")
        return TASK_FAILED
    print_text(f"Wrote {count} task(s) to '{wanted.file}'.")
    return SUCCESS


@contextmanager
def _new_file(file: Path, *, force: bool) -> Generator[BinaryIO]:
    """Open a file for its owner alone that appears when it is complete. Raises `FileExistsError`, unless `force`."""
    if not force and os.path.exists(file):
        raise FileExistsError
    descriptor, drafted = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with open(descriptor, "wb") as stream:  # noqa: PTH123  it is open already
            yield stream
        if not force:  # another process may have been faster
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        Path(drafted).replace(file)
    finally:
        Path(drafted).unlink(missing_ok=True)


async def _exported(wanted: Export, store: Store) -> AsyncGenerator[dict[str, JsonValue]]:
    for task in store.tasks() if wanted.session is None else store.session(SessionId(wanted.session)):
        fields = task_fields(task, [event_fields(one) for one in await store.history(task)])
        if wanted.with_checkpoints:
            fields["checkpoint"] = task.activity.checkpoint
        yield {name: value for name, value in fields.items() if value is not None}


def task_fields(task: Task, events: list[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    """Return the envelope of a task, uncut, then what it leaves out."""
    return {
        "export_version": VERSION,
        **task_envelope(task, output_max_chars=WHOLE).payload(),
        "parent": task.assignment.parent,
        "created_at_epoch_ms": task.assignment.created_ms,
        "started_at_epoch_ms": task.started_ms,
        "updated_at_epoch_ms": task.updated_ms,
        "ended_at_epoch_ms": task.ended_ms,
        "inherited_runs": _runs(task.assignment.inherited) or None,
        "runs": _runs(task.runs),
        "events": [*events],
    }


@cache
def _adapter() -> TypeAdapter[tuple[Run, ...]]:
    return TypeAdapter(tuple[Run, ...])


def _runs(runs: tuple[Run, ...]) -> JsonValue:
    written: JsonValue = _adapter().dump_python(runs, mode="json")
    return written
