"""Claude Code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_backend_cli import program
from ohm_backend_cli.agent import Agent, bound_to, named
from ohm_backend_cli.control import ARGUMENTS as CONTROL
from ohm_backend_cli.control import is_asking
from ohm_backend_cli.messages import MESSAGES, reason, system, used
from ohm_backend_cli.program import SERVER
from ohm_backend_cli.shapes import compact, count, object_of
from ohm_backend_cli.start import LONGEST_CALL_MS, LONGEST_CONNECT_MS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ohm_backend_cli.run_state import RunState
    from ohm_backend_cli.start import Start
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.mcp import Endpoint
    from ohm_subagents.plugin import JsonObject, RunRequest

TOOLS: Final = {
    "read": "Read",
    "bash": "Bash",
    "edit": "Edit",
    "write": "Write",
    "grep": "Grep",
    "find": "Glob",
    "ls": "Glob",
}
CHILD_PREFIX: Final = program.CLAUDE.child_prefix
KEYS: Final = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"),
    *("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"),
)
EFFORTS: Final = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}
HOPELESS: Final = (401, 403)
"""It asks ten times more, for minutes, before it believes these."""


def arguments(start: Start) -> list[str]:
    """Only the tools of the request, files only below the folder, no server and no hook that the folder brings.

    Where calls have rules, nothing with an effect is allowed beforehand: a call of which nobody can be asked any more,
    because our process was killed, must not be made.
    """
    request, endpoint = start.request, start.link.endpoint
    tools = named(request, TOOLS)
    writes = "Edit" in tools or "Write" in tools
    argv = ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
    argv += ["--setting-sources", "user", "--strict-mcp-config", f"--tools={','.join(tools)}"]
    asks = is_asking(request)
    argv += ["--permission-mode", "acceptEdits" if writes and not asks else "dontAsk"]
    argv += CONTROL if asks else ()
    unasked = ["Bash"] if "Bash" in tools and not asks else []
    if endpoint is not None:
        argv += [f"--mcp-config={_server(endpoint, start.folder)}"]
        unasked += [f"{CHILD_PREFIX}{name}" for name in endpoint.tools]
    argv += [f"--allowedTools={','.join(unasked)}"] if unasked else []
    argv += [f"--append-system-prompt={request.instructions}"] if request.instructions else []
    if request.model:
        argv += ["--model", request.model.model]
        effort = EFFORTS.get(request.model.thinking or "")
        argv += ["--effort", effort] if effort else []
    return argv + (["--resume", start.session] if start.session else [])


def _server(endpoint: Endpoint, folder: Path) -> Path:
    file = folder / "mcp.json"
    server: JsonObject = {"type": "http", "url": endpoint.url, "headers": {**endpoint.headers}}
    file.write_text(compact({"mcpServers": {SERVER: server}}), encoding="utf-8")
    return file


def settings(start: Start) -> dict[str, str]:
    """No update while it works, no thinking where that is asked, and a server that is connected before it begins."""
    model = start.request.model
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    if start.link.endpoint is not None:
        quiet |= {"MCP_CONNECTION_NONBLOCKING": "0", "ENABLE_TOOL_SEARCH": "false"}
        quiet |= {"MCP_TOOL_TIMEOUT": f"{LONGEST_CALL_MS}"}
        quiet |= dict.fromkeys(("MCP_TIMEOUT", "MCP_CONNECT_TIMEOUT_MS"), f"{LONGEST_CONNECT_MS}")
    return quiet | ({"MAX_THINKING_TOKENS": "0"} if model and model.thinking == "off" else {})


def unsupported(request: RunRequest) -> Iterator[str]:
    """Another provider than its own, and the smallest thinking level."""
    yield from bound_to("claude", "anthropic")(request)
    if request.model and request.model.thinking == "minimal":
        yield 'claude has no thinking level "minimal"; "low" is used.'


def _system(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"subtype": "api_retry", "error_status": int(status)} if status in HOPELESS:
            yield from run.fails(f"{record.get('error')}", status)
        case {"subtype": "api_retry", "error": str(error)}:
            run.hint = error
        case _:
            yield from system(record, run)


def _result(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """The counts are of this run. `is_error` tells the truth, whatever `subtype` says."""
    usage, turns = object_of(record.get("usage")), count(record.get("num_turns"))
    if run.used.requests:
        turns = 0
    if usage:
        yield from run.has_spent(used(usage, requests=turns, is_without_cached=True, cost=record.get("total_cost_usd")))
    match record:
        case {"subtype": "success", "is_error": False, "result": str(answer)}:
            yield from run.ends(answer)
        case _:
            yield from run.fails(reason(record), count(record.get("api_error_status")) or None)


CLAUDE: Final = Agent(
    **program.CLAUDE.facts,
    provider="anthropic",
    arguments=arguments,
    table={**MESSAGES, "system": _system, "result": _result},
    tools=TOOLS,
    writes={"Edit": "file_path", "Write": "file_path"},
    keys=lambda _request: KEYS,
    settings=settings,
    unsupported=unsupported,
)
