"""The part of a task that `Store.list` gives, as text: a store keeps it beside the log, and reads no log for it."""

import json
from functools import cache

from pydantic import TypeAdapter
from pydantic_core import from_json

from ohm_subagents.contract.account import Account
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.listed_task import ListedTask
from ohm_subagents.contract.task import UNAVAILABLE, Status, Task
from ohm_subagents.contract.usage import NOTHING_USED, Usage


def listed_to_text(task: Task) -> str:
    """Return what a list shows of a task, in JSON of ASCII, without what `listed_from_text` is given."""
    assignment, usage = task.assignment, task.activity.usage
    listed: dict[str, object] = {
        "profile": assignment.profile,
        "description": assignment.description,
        "call": assignment.call,
        "created_ms": assignment.created_ms,
        "started_ms": task.started_ms,
        "usage": {} if usage is NOTHING_USED else _usages().dump_python(usage, mode="json"),
    }
    if assignment.parent is not None:
        listed["parent"] = assignment.parent
    if assignment.shares is not None:
        listed["start"] = assignment.shares.id
    if task.activity.account is not None:
        listed["account"] = _accounts().dump_python(task.activity.account, mode="json")
    if UNAVAILABLE not in {task.route.provider, task.route.model}:
        listed["model"] = f"{task.route.provider}/{task.route.model}"
    return json.dumps(listed)


def listed_from_text(
    text: str,
    *,
    id: TaskId,
    session_id: SessionId,
    status: Status,
    ended_ms: int | None,
) -> ListedTask | None:
    """Return what a list shows of a task; None if only its log can tell."""
    try:
        fields = from_json(text)
        fields["usage"] = _usages().validate_python(fields["usage"])
        if "account" in fields:
            fields["account"] = _accounts().validate_python(fields["account"])
        return ListedTask(id=id, session_id=session_id, status=status, ended_ms=ended_ms, **fields)
    except (ValueError, TypeError, KeyError):
        return None


@cache
def _usages() -> TypeAdapter[Usage]:
    return TypeAdapter(Usage)


@cache
def _accounts() -> TypeAdapter[Account]:
    return TypeAdapter(Account)
