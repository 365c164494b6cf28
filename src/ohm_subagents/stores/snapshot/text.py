"""The documented JSON file of tasks as text."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents.contract.events import AgentEnded, TextDelta, ToolEnded, ToolStarted, ToolUpdated
from ohm_subagents.contract.ids import is_batch_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from ohm_subagents.contract.events import Recorded
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import Hidden, OutboxEntry, Position

    OutboxState: TypeAlias = tuple[int, Iterable[OutboxEntry], Sequence[Position]]

FILE: Final = "ohm.subagents.tasks.json"
SCHEMA: Final = 1
_NOTHING: Final[Mapping[TaskId, Hidden]] = MappingProxyType({})


def printed(
    tasks: Iterable[Task],
    expired: Mapping[TaskId, str],
    hidden: Mapping[TaskId, Hidden] = _NOTHING,
    *,
    now_ms: int,
    outbox: OutboxState | None = None,
) -> bytes:
    """Return the whole file. What the documented schema has no place for is left out, but for four keys.

    `callId` is in an entry. `launches` has the launch record of each task, and `expired` the tasks that were removed:
    each has the reason, and one that is only hidden also its entry and when that was found. `outbox` is there once
    there is a consumer: it has the consumers, and the entries that one of them awaits.
    """
    tasks = tuple(tasks)
    root: dict[str, JsonValue] = {
        "schemaVersion": SCHEMA,
        "savedAtEpochMs": now_ms,
        "entries": [_printed(task) for task in tasks],
    }
    kept = (*tasks, *(each.task for each in hidden.values()))
    launches: dict[str, JsonValue] = {task.id: task.launch.as_json() for task in kept if task.launch is not None}
    if launches:
        root["launches"] = launches
    removed: dict[str, JsonValue] = {str(task_id): why for task_id, why in expired.items()}
    for task_id, each in hidden.items():
        removed[task_id] = {"why": expired.get(task_id), "atEpochMs": each.at_ms, "entry": _printed(each.task)}
    if removed:
        root["expired"] = removed
    if outbox is not None and outbox[2]:
        root["outbox"] = _printed_outbox(*outbox)
    return (json.dumps(root, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")


def _printed_outbox(head: int, entries: Iterable[OutboxEntry], positions: Iterable[Position]) -> JsonValue:
    return {
        "head": head,
        "entries": [
            {"sequence": each.sequence, "sessionId": each.task.session_id, "entry": _printed(each.task)}
            for each in entries
        ],
        "consumers": [
            {
                "name": each.consumer.name,
                "session": each.consumer.session,
                "calls": each.consumer.calls,
                "sequence": each.sequence,
                "acknowledged": [*sorted(each.acknowledged)],
                "missed": each.missed,
            }
            for each in positions
        ],
    }


def _printed(task: Task) -> JsonValue:
    record: dict[str, JsonValue] = {
        "id": task.id,
        "subagentType": task.assignment.profile,
        "description": task.assignment.description,
        "prompt": task.assignment.prompt,
        "state": task.status,
        "totalToolCalls": len(task.runs),  # it counts runs
        "activeToolCalls": sum(run.outcome is None for run in task.runs),
        "startedAtEpochMs": task.assignment.created_ms,
        "updatedAtEpochMs": task.updated_ms,
    }
    entry: dict[str, JsonValue] = {"record": record, "summary": task.summary}
    if task.output:
        entry["output"] = task.output
    entry |= {
        "backend": task.assignment.backend,
        "provider": task.route.provider,
        "model": task.route.model,
        "runtime": task.route.runtime,
        "route": task.route.route,
        "invocation": task.assignment.invocation,
        "followUpPrompts": [*_follow_ups(task)],
    }
    if task.assignment.call is not None and not is_batch_id(task.assignment.call):  # a key more than the file has
        entry["callId"] = task.assignment.call
    if task.ended_ms is not None:
        record["endedAtEpochMs"] = task.ended_ms
    if task.error is not None:
        record |= {"lastErrorCode": str(task.error.code), "lastErrorMessage": task.error.message}
        entry |= {"errorCode": str(task.error.code), "errorMessage": task.error.message}
    entry["events"] = [printed for recorded in task.activity.events if (printed := _printed_event(recorded))]
    return entry


def _follow_ups(task: Task) -> Iterator[str]:
    for number, run in enumerate(task.runs):
        asked = (run.prompt, *run.follow_ups) if number else run.follow_ups
        yield from (prompt.strip() for prompt in asked)


def _printed_event(recorded: Recorded) -> JsonValue:
    """Return an event as the format has it; None for one that it has no form for."""
    match recorded.event:
        case TextDelta(text=text):
            fields: dict[str, JsonValue] = {"type": "assistant_text_delta", "delta": text}
        case ToolStarted(call_id=call_id, tool=tool, args=args):
            fields = {"type": "tool_start", "toolCallId": call_id, "toolName": tool, "argsText": args}
        case ToolUpdated(call_id=call_id, tool=tool, text=text):
            fields = {"type": "tool_update", "toolCallId": call_id, "toolName": tool, "partialText": text}
        case ToolEnded(call_id=call_id, tool=tool, status=status, text=text):
            ended = "success" if status == "success" else "error"
            fields = {"type": "tool_end", "toolCallId": call_id, "toolName": tool, "resultText": text, "status": ended}
        case AgentEnded():
            fields = {"type": "task_terminal", "terminal": "agent_end"}
        case _:
            return None
    return {**{key: value for key, value in fields.items() if value != ""}, "atEpochMs": recorded.at_ms}
