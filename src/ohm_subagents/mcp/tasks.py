"""The extension `io.modelcontextprotocol/tasks`: a call that a client polls, under the id that every door knows.

A call of one task has the id of that task, one of several the id of the call. Both are kept in the store, so a new
server process answers for them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import RequestParams
from mcp_types.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict, Field

from ohm_subagents import Call
from ohm_subagents.mcp.options import TASKS_EXTENSION
from ohm_subagents.mcp.requests import forms_of, give_answers, requests_of
from ohm_subagents.mcp.results import call_result, instant, kept_result
from ohm_subagents.suite import asked_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.context import ServerRequestContext

    from ohm_subagents import Ohm
    from ohm_subagents.contract import Request, Task
    from ohm_subagents.suite import ToolResult

    Context = ServerRequestContext[Any, Any]

_POLL_MS: Final = 500
_MOST_SUMMARIES: Final = 5
_MOST_OVER: Final = 1_000
"""Of so many calls the results are remembered; of one that was over before them, the tasks are left."""


class TaskParams(RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    model_config = ConfigDict(populate_by_name=True)

    task_id: str = Field(alias="taskId")
    """The id of a task of ours, or of a call."""


class UpdateParams(TaskParams):
    """The parameters of `tasks/update`."""

    input_responses: dict[str, Any] = Field(alias="inputResponses")
    """Answers to questions of a task, by their keys."""


def takes_tasks(context: Context) -> bool:
    """Return True if the client of this request has declared the extension for it."""
    declared = context.session.client_capabilities
    return (
        context.protocol_version in MODERN_PROTOCOL_VERSIONS
        and declared is not None
        and TASKS_EXTENSION in (declared.extensions or {})
    )


class _Polled(NamedTuple):
    """The known state of the task behind an id."""

    tasks: list[Task]
    """Those of ours that are still kept."""
    result: ToolResult | None
    """None while it goes on."""
    created_ms: int
    """Epoch milliseconds."""
    requests: Sequence[Request] = ()
    """The requests that somebody has to answer before it goes on."""

    @property
    def status(self) -> str:
        """The status by the words of the extension, where only an error of the protocol is `failed`."""
        if self.result is None:
            return "input_required" if self.requests else "working"
        is_cancelled = bool(self.tasks) and all(task.status == "cancelled" for task in self.tasks)
        return "cancelled" if is_cancelled else "completed"


class Tasks:
    """The calls that clients poll, and the handlers of the extension."""

    def __init__(self, ohm: Ohm, *, structured: bool) -> None:
        self._ohm = ohm
        self._structured = structured
        self._calls: dict[str, tuple[Call, int]] = {}

    async def created(self, call: Call) -> dict[str, Any]:
        """Return the result of a call that is a task from now on: it is kept, and goes on without its client."""
        if len(self._calls) > _MOST_OVER:
            for known in [known for known, (each, _) in self._calls.items() if each.result is not None][:1]:
                del self._calls[known]
        await self._ohm.store.flush()
        task_id = call.task_ids[0] if len(call.task_ids) == 1 else call.id
        tasks = self._tasks_of(call)
        self._calls[task_id] = call, tasks[0].assignment.created_ms
        return {"resultType": "task", **self._fields(task_id, _Polled(tasks, None, tasks[0].assignment.created_ms))}

    async def get(self, context: Context, params: TaskParams) -> dict[str, Any]:
        """Return the state of a task, with its result once there is one."""
        _check(context, params.task_id)
        polled = await self._polled(params.task_id)
        fields = {"resultType": "complete", **self._fields(params.task_id, polled)}
        if polled.requests:
            forms = forms_of(polled.requests)
            asked = {key: form.model_dump(mode="json", by_alias=True, exclude_none=True) for key, form in forms.items()}
            return {**fields, "inputRequests": asked}
        if polled.status != "completed" or polled.result is None:
            return fields
        shaped = call_result(polled.result, structured=self._structured)
        return {**fields, "result": shaped.model_dump(mode="json", by_alias=True, exclude_none=True)}

    async def update(self, context: Context, params: UpdateParams) -> dict[str, Any]:
        """Take answers to requests of a task; those to unknown ones are ignored."""
        _check(context, params.task_id)
        polled = await self._polled(params.task_id)
        await give_answers(self._ohm, polled.requests, params.input_responses)
        return {"resultType": "complete"}

    async def cancel(self, context: Context, params: TaskParams) -> dict[str, Any]:
        """Ask a task to stop; one that is settled stays as it is."""
        _check(context, params.task_id)
        call, _ = self._calls.get(params.task_id, (None, 0))
        target = call or self._ohm.handle(params.task_id)
        if target is None:
            raise _unknown(params.task_id)
        with asked_by("client"):
            await target.cancel()
        return {"resultType": "complete"}

    async def _polled(self, task_id: str) -> _Polled:
        """Return what is known behind an id, and what it waits for."""
        polled = await self._known(task_id)
        if polled.result is not None:
            return polled
        return polled._replace(requests=requests_of(self._ohm, (task.id for task in polled.tasks)))

    async def _known(self, task_id: str) -> _Polled:
        """Return what is known behind an id: in memory, of a kept task, or of the kept tasks of an earlier call."""
        if task_id in self._calls:
            call, created_ms = self._calls[task_id]
            return _Polled(self._tasks_of(call), call.result, created_ms)
        task = self._ohm.task(task_id)
        if task is not None:
            cap = self._ohm.config.output_max_chars
            result = kept_result(task, output_max_chars=cap) if task.is_terminal else None
            return _Polled([task], result, task.assignment.created_ms)
        earlier = self._ohm.handle(task_id)
        tasks = self._tasks_of(earlier) if isinstance(earlier, Call) else []
        if not isinstance(earlier, Call) or not tasks:
            raise _unknown(task_id)
        result = await earlier.wait() if all(task.is_terminal for task in tasks) else None
        return _Polled(tasks, result, tasks[0].assignment.created_ms)

    def _tasks_of(self, call: Call) -> list[Task]:
        return [task for task in map(self._ohm.task, call.task_ids) if task is not None]

    def _fields(self, task_id: str, polled: _Polled) -> dict[str, Any]:
        retention_ms = self._ohm.config.subagents.task_retention_ms
        return {
            "taskId": task_id,
            "status": polled.status,
            "statusMessage": "; ".join(task.summary for task in polled.tasks[:_MOST_SUMMARIES]),
            "createdAt": instant(polled.created_ms),
            "lastUpdatedAt": instant(max((task.updated_ms for task in polled.tasks), default=polled.created_ms)),
            "ttlMs": retention_ms,
            "pollIntervalMs": _POLL_MS,
        }


def _check(context: Context, task_id: str) -> None:
    """Raise for a request that may not use the extension, or whose header names another task."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=context.method)
    if not takes_tasks(context):
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message=f"'{context.method}' needs the extension {TASKS_EXTENSION}: declare it in the request.",
            data={"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}},
        )
    named = None if context.request is None else context.request.headers.get(MCP_NAME_HEADER)
    if named is not None and decode_header_value(named) != task_id:
        raise MCPError(code=HEADER_MISMATCH, message=f"The header {MCP_NAME_HEADER} names another task than taskId.")


def _unknown(task_id: str) -> MCPError:
    return MCPError(
        code=INVALID_PARAMS,
        message=f"There is no task {task_id!r:.80}. Settled tasks are removed after subagents.taskRetentionMs.",
    )
