"""Codex CLI."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ohm_backend_cli import program
from ohm_backend_cli.agent import Agent
from ohm_backend_cli.program import SERVER
from ohm_backend_cli.service import KEY, key_of
from ohm_backend_cli.shapes import compact, count, object_of, objects_of, texts_of
from ohm_backend_cli.start import LONGEST_CALL_MS
from ohm_subagents.plugin import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_backend_cli.run_state import RunState
    from ohm_backend_cli.start import Start
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.mcp import Endpoint
    from ohm_subagents.plugin import CompatibleProvider, JsonObject, RunRequest

READING: Final = ("read", "grep", "find", "ls")
WRITING: Final = ("bash", "edit", "write")
KEYS: Final = ("OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME")
SERVICE: Final = "ohm-service"
"""Its name for a service of ohm.json, whose own may be one that codex keeps for itself."""
TOKEN: Final = "OHM_RUN_TOKEN"  # noqa: S105  the name of the variable
CHILD_PREFIX: Final = program.CODEX.child_prefix
CALLS: Final = {
    "command_execution": ("command",),
    "mcp_tool_call": ("server", "tool", "arguments"),
    "web_search": ("query",),
    "collab_tool_call": ("tool", "prompt"),
    "file_change": ("changes",),
}
"""Items that are tool calls, with the fields that are their arguments."""


def arguments(start: Start) -> list[str]:
    """A sandbox that writes only when the request may, no shell when it may not even read, and no agents of its own."""
    request, session = start.request, start.session
    writes = any(tool in request.tools for tool in WRITING)
    reads = any(tool in request.tools for tool in READING)
    argv = ["exec", "--json", "--skip-git-repo-check", "-s", "workspace-write" if writes else "read-only"]
    argv += ["-c", "features.multi_agent=false"]
    argv += [] if reads or writes else ["-c", "features.shell_tool=false"]
    if request.model:
        provider = request.model.provider
        if start.link.service is not None:
            provider = SERVICE
            argv += ["-c", f"model_providers.{SERVICE}={_service(start.link.service)}"]
        argv += ["-m", request.model.model, "-c", _setting("model_provider", provider)]
        level = {"off": "none"}.get(request.model.thinking or "", request.model.thinking)
        argv += ["-c", _setting("model_reasoning_effort", level)] if level else []
    if start.link.endpoint is not None:
        argv += ["-c", f"mcp_servers.{SERVER}={_server(start.link.endpoint)}"]
    if session:
        return [*argv, "resume", session, "-"]  # the instructions are in the session
    return [
        *argv,
        *(["-c", _setting("developer_instructions", request.instructions)] if request.instructions else []),
        "-",
    ]


def _setting(name: str, text: str) -> str:
    """One of its settings, in TOML, where such a string is written as in JSON."""
    return f"{name}={json.dumps(text, ensure_ascii=False)}"


def _service(service: CompatibleProvider) -> str:
    key = {"env_key": compact(KEY)} if service.api_key_env else {}
    return _table(
        {"name": compact(service.name), "base_url": compact(service.base_url), "wire_api": '"responses"', **key}
    )


def _server(endpoint: Endpoint) -> str:
    """Return the server with the child tools; its token is in the environment."""
    fields = {
        "url": compact(endpoint.url),
        "bearer_token_env_var": compact(TOKEN),
        "required": "true",
        "startup_timeout_sec": "60",
        "tool_timeout_sec": f"{LONGEST_CALL_MS // 1000}",
        "default_tools_approval_mode": '"approve"',
    }
    return _table(fields)


def _table(fields: Mapping[str, str]) -> str:
    """Return a TOML table of values in TOML."""
    return f"{{{', '.join(f'{name} = {value}' for name, value in fields.items())}}}"


def settings(start: Start) -> dict[str, str]:
    """Return the token of the server with the child tools, and the key of the service."""
    endpoint, service = start.link.endpoint, start.link.service
    token = {} if endpoint is None else {TOKEN: endpoint.token}
    return token | ({} if service is None else key_of(service, start.request))


def unsupported(request: RunRequest) -> Iterator[str]:
    """It has a shell in a sandbox, not tools that can be taken away one by one."""
    granted = [tool for tool in WRITING if tool in request.tools]
    if granted and len(granted) < len(WRITING):
        yield f"codex cannot be limited to {', '.join(granted)}: it may write and run commands below the folder."
    elif not granted and any(tool in request.tools for tool in READING):
        yield "codex reads by running commands, in a sandbox that can write nothing."


def _started(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    item = object_of(record.get("item"))
    match item:
        case {"type": "mcp_tool_call", "id": str(call_id), "server": server, "tool": str(tool)} if server == SERVER:
            yield from run.calls(call_id, f"{CHILD_PREFIX}{tool}", item.get("arguments"))
        case {"type": str(kind), "id": str(call_id)} if kind in CALLS:
            yield from run.calls(call_id, kind, {name: item[name] for name in CALLS[kind] if name in item})
        case _:
            pass


def _completed(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    item = object_of(record.get("item"))
    match item:
        case {"type": "agent_message", "text": str(text)}:
            run.answer = ""
            yield from run.says(text)
        case {"type": "reasoning", "text": str(text)}:
            yield from run.thinks(text)
        case {"type": "error", "message": str(message)}:
            yield from run.warns(message)
        case {"type": str(kind), "id": str(call_id)} if kind in CALLS:
            yield from _started(record, run)
            ok = item.get("status") in (None, "completed")
            yield from run.returns(call_id, _result(item), ok=ok)
            for change in objects_of(item.get("changes")) if ok else ():
                yield from run.writes_to(f"{change.get('path') or ''}")
        case _:
            pass


def _result(item: JsonObject) -> str:
    match item:
        case {"aggregated_output": str(text)} | {"error": {"message": str(text)}}:
            return text
        case _:
            return texts_of(object_of(item.get("result")).get("content"))


def _thread(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"thread_id": str(session)}:
            yield from run.begins(session)
        case _:
            pass


def _trouble(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """It may try again: another record says whether the turn has failed."""
    run.hint = f"{record.get('message') or ''}"
    yield from ()


def _done(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """The counts are of the session; the number of requests is unknown."""
    usage = object_of(record.get("usage"))
    total = Usage(
        requests=1,
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=count(usage.get("cached_input_tokens")),
    )
    yield from run.has_spent(total, of_session=True)
    yield from run.ends()


def _failed(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """Read an error: a bare body is that of a 400; all others come with their status."""
    match object_of(record.get("error")):
        case {"message": str(message)}:
            yield from run.fails(message, 400 if message.lstrip().startswith("{") else None)
        case _:
            yield from run.fails(run.hint or "no reason given")


CODEX: Final = Agent(
    **program.CODEX.facts,
    provider="openai",
    arguments=arguments,
    table={
        "thread.started": _thread,
        "item.started": _started,
        "item.completed": _completed,
        "error": _trouble,
        "turn.completed": _done,
        "turn.failed": _failed,
    },
    tools={tool: tool for tool in (*READING, *WRITING)},
    keys=lambda _request: KEYS,
    settings=settings,
    unsupported=unsupported,
)
