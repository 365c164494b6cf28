"""Tasks and events as JSON and back, in a shape that stays as it is, whatever the classes are divided into."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaSerializer
from pydantic_core.core_schema import any_schema

from ohm_subagents.contract.errors import as_declared
from ohm_subagents.contract.event_json import events, with_declared_error
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.task import Assignment, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from ohm_subagents.contract.activity import Activity
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.launch import LaunchRecord
    from ohm_subagents.contract.task import Run

_NESTED: Final = ("assignment", "activity")
_NOTHING: Final[frozenset[str]] = frozenset()
_SUITE_OF_CATALOG: Final = "delegate"
"""The suite of a task that was written with `catalog: agents`, before tasks had the name of their suite."""
Value = TypeVar("Value")
_WITHOUT_SCHEMA: Final = SchemaSerializer(any_schema())
_FEW: Final = 100
"""Values for which no schema is made: that takes, for a task and its events, as long as 5,000 are slower without."""
_first: Final = iter(range(_FEW))
_newest_launch: Final[list[tuple[LaunchRecord | None, bytes]]] = [(None, b"")]
"""The newest one, and its field as it was written."""


@cache
def _tasks() -> TypeAdapter[Task]:
    """One adapter for a task and its records, which is slow to make; made on first use."""
    return TypeAdapter(Task)


def as_json(
    adapter: Callable[[], TypeAdapter[Value]],
    value: Value,
    *,
    include: set[str] | None = None,
    exclude: set[str] | dict[str, set[str]] | None = None,
) -> bytes:
    """Write a value as JSON; text that is no Unicode is replaced, so that the rest is kept.

    The first values of a process are written without a schema: the JSON is the same, and a short process ends sooner.
    """
    serializer = adapter().serializer if next(_first, None) is None else _WITHOUT_SCHEMA
    try:
        return serializer.to_json(value, include=include, exclude=exclude)
    except (PydanticSerializationError, UnicodeEncodeError):
        plain = adapter().dump_python(value, include=include, exclude=exclude)
        return json.dumps(plain, default=str, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def task_to_json(task: Task, *, without: AbstractSet[str] = _NOTHING) -> bytes:
    """Write a task as one flat JSON object; what is empty is left out, and the fields named in `without`."""
    own = as_json(_tasks, task, exclude={*_empty(task, without), *_NESTED, "launch"})
    launch = () if task.launch is None else (_launch(task, task.launch),)
    return b"{%b}" % b",".join((own[1:-1], *launch, *(_record(task, name, without) for name in _NESTED)))


def _launch(task: Task, launch: LaunchRecord) -> bytes:
    """Return the field of the launch record, which is the greatest part, and one object for the tasks of a profile."""
    newest, written = _newest_launch[0]
    if launch is not newest:
        written = as_json(_tasks, task, include={"launch"})[1:-1]
        _newest_launch[0] = launch, written
    return written


def _record(task: Task, name: str, without: AbstractSet[str]) -> bytes:
    """Return the fields of a record, out of the object that has it alone."""
    empty = _empty(getattr(task, name), without)
    return as_json(_tasks, task, include={name}, exclude={name: empty})[len(name) + 5 : -2]


def _empty(part: Task | Assignment | Activity, without: AbstractSet[str]) -> set[str]:
    empty = {name for name, value in vars(part).items() if value is None or (type(value) is tuple and not value)}
    return empty | without


def event_json_bytes(event: Event) -> bytes:
    """Write an event as a JSON object, with its `kind`."""
    return as_json(events, event)


def task_from_json(fields: Mapping[str, object]) -> Result[Task, str]:
    """Return the task of a JSON object that `task_to_json` wrote, or why there is none; unknown fields are ignored."""
    asked = {**fields, "suite": _SUITE_OF_CATALOG} if fields.get("catalog") == "agents" else fields
    try:
        task = _tasks().validate_python({**fields, "assignment": asked, "activity": fields})
    except (ValidationError, TypeError) as exc:
        fault = exc.errors()[0]["msg"] if isinstance(exc, ValidationError) else str(exc)
        return Err(f"it holds no task of this version: {fault}")
    assignment = replace(task.assignment, inherited=_declared_runs(task.assignment.inherited))
    error = None if task.error is None else _declared_error(task.error)
    return Ok(replace(task, assignment=assignment, runs=_declared_runs(task.runs), error=error))


def _declared_error(error: OhmError) -> OhmError:
    """Return the error with one of our own codes as the member that knows its category."""
    return replace(error, code=as_declared(error.code))


def _declared_runs(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    return tuple(replace(run, outcome=with_declared_error(run.outcome)) for run in runs)
