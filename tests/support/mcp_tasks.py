"""A client of the extension `io.modelcontextprotocol/tasks`, as small as can be: the official one has none."""

from typing import Any, Literal

from mcp.client.extension import ClientExtension, ResultClaim
from mcp_types import Request, RequestParams, Result
from pydantic import ConfigDict, Field

EXTENSION = "io.modelcontextprotocol/tasks"


class Created(Result):
    model_config = ConfigDict(extra="allow")
    task_id: str = Field(alias="taskId")
    status: str
    result_type: Literal["task"] = Field(alias="resultType")


class State(Result):
    model_config = ConfigDict(extra="allow")
    task_id: str | None = Field(default=None, alias="taskId")
    status: str | None = None
    status_message: str | None = Field(default=None, alias="statusMessage")
    result: dict[str, Any] | None = None


class Params(RequestParams):
    task_id: str = Field(serialization_alias="taskId")
    input_responses: dict[str, Any] | None = Field(default=None, serialization_alias="inputResponses")


class Asked(Request[Params, str]):
    method: str
    params: Params


class TasksExtension(ClientExtension):
    """Declares the extension; `begun` gets the tasks themselves."""

    identifier = EXTENSION

    def settings(self):
        return {}

    def claims(self):
        async def unused(created, _context):
            raise AssertionError(created)

        versions = frozenset({"2026-07-28"})
        return (ResultClaim(result_type="task", model=Created, resolve=unused, protocol_versions=versions),)


async def begun(client, name, arguments):
    """Call a tool; what comes back is a task, or the result if there was no need of one."""
    return await client.session.call_tool(name, arguments, allow_claimed=True)


async def ask(client, method, task_id, **more):
    """Send a request of the extension."""
    return await client.session.send_request(Asked(method=method, params=Params(task_id=task_id, **more)), State)
