"""OpenCode."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from ohm_backend_cli import program
from ohm_backend_cli.agent import Agent, named
from ohm_backend_cli.program import SERVER
from ohm_backend_cli.service import KEY, key_of
from ohm_backend_cli.shapes import compact, count, dollars, object_of, texts_of
from ohm_backend_cli.start import LONGEST_CALL_MS
from ohm_backend_cli.stream import Ending
from ohm_subagents.plugin import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_backend_cli.run_state import RunState
    from ohm_backend_cli.start import Start
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.mcp import Endpoint
    from ohm_subagents.plugin import CompatibleProvider, JsonObject, RunRequest
    from ohm_subagents.shell import Ended

NAME: Final = "ohm-subagent"
"""Its name for the agent that we describe to it."""
CONFIG: Final = "OPENCODE_CONFIG_CONTENT"
TOOLS: Final = {
    "read": "read",
    "bash": "bash",
    "edit": "edit",
    "write": "edit",  # one permission for both
    "grep": "grep",
    "find": "glob",
    "ls": "list",
}
CHILD_PREFIX: Final = program.OPENCODE.child_prefix
OWN_KEYS: Final = ("OPENCODE_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", CONFIG)
KEYS: Final = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
}
LOGGED: Final = re.compile(r' error="((?:[^"\\]|\\.)*)"')
STOPPED: Final = {
    "length": "The answer was cut off at the model's output token limit.",
    "other": "The model stopped for a reason that its provider does not tell.",
}


def arguments(start: Start) -> list[str]:
    """Return an agent that the environment describes, and no plugin that the folder brings."""
    model, session = start.request.model, start.session
    argv = ["run", "--format", "json", "--pure", "--thinking", "--print-logs", "--log-level", "ERROR", "--agent", NAME]
    if model:
        argv += ["--model", f"{model.provider}/{model.model}"]
        argv += ["--variant", model.thinking] if model.thinking and model.thinking != "off" else []
    return argv + (["--session", session] if session else [])


def settings(start: Start) -> dict[str, str]:
    """Return the agent: the instructions, and all tools denied but those of the request."""
    request, endpoint = start.request, start.link.endpoint
    children = [f"{CHILD_PREFIX}{name}" for name in endpoint.tools] if endpoint is not None else []
    permission: JsonObject = {"*": "deny", **dict.fromkeys([*named(request, TOOLS), *children], "allow")}
    prompt: JsonObject = {"prompt": request.instructions} if request.instructions else {}
    agent: JsonObject = {"mode": "primary", "permission": permission, **prompt}
    config = _config(request.env.get(CONFIG, ""))
    config = {**config, "agent": {**object_of(config.get("agent")), NAME: agent}}
    if endpoint is not None:
        config = {**config, "mcp": {**object_of(config.get("mcp")), SERVER: _server(endpoint)}}
    service, model, key = start.link.service, request.model, dict[str, str]()
    if service is not None and model is not None:
        key = key_of(service, request)
        config = {
            **config,
            "provider": {**object_of(config.get("provider")), service.name: _service(service, model.model)},
        }
    return {CONFIG: compact(config), "OPENCODE_DISABLE_AUTOUPDATE": "1", **key}


def _service(service: CompatibleProvider, model: str) -> JsonObject:
    key: JsonObject = {"apiKey": f"{{env:{KEY}}}"} if service.api_key_env else {}
    return {
        "npm": "@ai-sdk/openai-compatible",
        "name": service.name,
        "options": {"baseURL": service.base_url, **key},
        "models": {model: {"name": model}},
    }


def _server(endpoint: Endpoint) -> JsonObject:
    return {
        "type": "remote",
        "url": endpoint.url,
        "headers": {**endpoint.headers},
        "oauth": False,
        "enabled": True,
        "timeout": LONGEST_CALL_MS,
    }


def _config(text: str) -> JsonObject:
    """Return the user's own settings, to which ours are added."""
    try:
        return object_of(json.loads(text or "{}"))
    except ValueError:
        return {}


def keys(request: RunRequest) -> tuple[str, ...]:
    """Those of the provider of the model; of all that are common when it chooses the model itself."""
    if request.model is None:
        return (*OWN_KEYS, *(key for provider in KEYS.values() for key in provider))
    provider = request.model.provider
    return (*OWN_KEYS, *KEYS.get(provider, (f"{provider.upper().replace('-', '_')}_API_KEY",)))


def unsupported(request: RunRequest) -> Iterator[str]:
    """Thinking levels, which are names that a model may or may not have; and one permission for two tools."""
    level = request.model.thinking if request.model else None
    if level == "off":
        yield "opencode cannot turn thinking off."
    elif level:
        yield f'opencode is told the variant "{level}", which has an effect only if the model has one of this name.'
    if ("edit" in request.tools) != ("write" in request.tools):
        yield "opencode has one permission for edit and write, so the subagent has both."


def _step(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    run.is_done = False
    yield from _session(record, run)


def _session(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"sessionID": str(session)}:
            yield from run.begins(session)
        case _:
            pass


def _text(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"part": {"text": str(text)}}:
            yield from run.says(text)
        case _:
            pass


def _reasoning(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"part": {"text": str(text)}}:
            yield from run.thinks(text)
        case _:
            pass


def _tool(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """A call is reported once it is over."""
    part = object_of(record.get("part"))
    state = object_of(part.get("state"))
    match part:
        case {"tool": str(tool), "callID": str(call_id)}:
            yield from run.calls(call_id, tool, state.get("input"))
            text = texts_of(state.get("output") or state.get("error"))
            yield from run.returns(call_id, text, ok=state.get("status") == "completed")
        case _:
            pass


def _finish(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """A request to the model is over. The run is, when the model calls no more tools and the process ends."""
    part = object_of(record.get("part"))
    tokens = object_of(part.get("tokens"))
    cache = object_of(tokens.get("cache"))
    if tokens:
        yield from run.spends(
            Usage(
                requests=1,
                input_tokens=count(tokens.get("input")) + count(cache.get("read")) + count(cache.get("write")),
                output_tokens=count(tokens.get("output")) + count(tokens.get("reasoning")),
                cached_tokens=count(cache.get("read")),
                cost_usd=dollars(part.get("cost")),
            )
        )
    match part.get("reason"):
        case "tool-calls" | "error":
            pass
        case "content-filter":
            yield from run.fails("content filter")
        case str(reason):
            run.is_done = True
            if reason in STOPPED:
                yield from run.warns(STOPPED[reason])
        case _:
            pass


def _error(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    yield from _session(record, run)
    error = object_of(record.get("error"))
    data = object_of(error.get("data"))
    said = data.get("message") or error.get("name") or "no reason given"
    yield from run.fails(f"{said}", count(data.get("statusCode")) or None)


def cause(said: str, ended: Ended) -> str:
    """Return the error of its log, where a record says no more than that there is one."""
    logged = LOGGED.findall(ended.stderr) if "server logs" in said else []
    return logged[-1] if logged else said


OPENCODE: Final = Agent(
    **program.OPENCODE.facts,
    arguments=arguments,
    table={
        "step_start": _step,
        "text": _text,
        "reasoning": _reasoning,
        "tool_use": _tool,
        "step_finish": _finish,
        "error": _error,
    },
    tools=TOOLS,
    writes={"edit": "filePath", "write": "filePath"},
    keys=keys,
    settings=settings,
    unsupported=unsupported,
    ending=Ending(cause=cause),
)
