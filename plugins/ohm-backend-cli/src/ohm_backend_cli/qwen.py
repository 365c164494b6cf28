"""Qwen Code."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_backend_cli import program
from ohm_backend_cli.agent import Agent, named, without_thinking
from ohm_backend_cli.messages import MESSAGES, assistant, reason, used
from ohm_backend_cli.program import SERVER
from ohm_backend_cli.shapes import compact, count, object_of, texts_of
from ohm_backend_cli.start import LONGEST_CALL_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_backend_cli.run_state import RunState
    from ohm_backend_cli.start import Start
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.plugin import JsonObject, RunRequest

TOOLS: Final = {
    "read": "read_file",
    "bash": "run_shell_command",
    "edit": "edit",
    "write": "write_file",
    "grep": "grep_search",
    "find": "glob",
    "ls": "list_directory",
}
DEFAULTS: Final = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
"""The variable that names a file of settings below all others, in place of `DEFAULTS_FILE`."""
DEFAULTS_FILE: Final = (
    Path("/Library/Application Support/QwenCode" if sys.platform == "darwin" else "/etc/qwen-code")
    / "system-defaults.json"
)
CHILD_PREFIX: Final = program.QWEN.child_prefix
UNASKED: Final = (
    *("agent", "ask_user_question", "exit_plan_mode", "monitor", "send_message", "skill", "task_stop", "tool_search"),
)
"""Tools that are offered although `--core-tools` does not name them."""
AUTH: Final = {"openai": "openai", "anthropic": "anthropic", "google": "gemini"}
"""The protocol that it uses for each provider; others are in its own settings."""
KEYS: Final = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "google": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
}
OWN_KEYS: Final = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "DASHSCOPE_API_KEY",
    "BAILIAN_CODING_PLAN_API_KEY",
)
API_ERROR: Final = re.compile(r"\[API Error: .*\]", re.DOTALL)


def arguments(start: Start) -> list[str]:
    """Only the tools of the request, which it then may use unasked."""
    request, endpoint = start.request, start.link.endpoint
    tools = named(request, TOOLS)
    tools += ["edit"] if "write_file" in tools and "edit" not in tools else []
    argv = ["--output-format", "stream-json", "--include-partial-messages", "--approval-mode", "default"]
    for tool in tools:
        argv += [f"--core-tools={tool}", f"--allowed-tools={tool}"]
    argv += [] if tools else ["--core-tools=none"]
    argv += [f"--allowed-tools={CHILD_PREFIX}{name}" for name in endpoint.tools] if endpoint is not None else []
    argv += [f"--exclude-tools={tool}" for tool in UNASKED]
    argv += [f"--append-system-prompt={request.instructions}"] if request.instructions else []
    if request.model:
        argv += ["--model", request.model.model]
        auth = AUTH.get(request.model.provider)
        argv += ["--auth-type", auth] if auth else []
    return argv + (["--resume", start.session] if start.session else [])


def settings(start: Start) -> dict[str, str]:
    """Return the server with the child tools, in a private file with the defaults of this machine."""
    endpoint = start.link.endpoint
    if endpoint is None:
        return {}
    server: JsonObject = {
        "httpUrl": endpoint.url,
        "headers": {**endpoint.headers},
        "timeout": LONGEST_CALL_MS,
        "trust": True,
    }
    defaults = _defaults()
    file = start.folder / "defaults.json"
    servers = {**object_of(defaults.get("mcpServers")), SERVER: server}
    file.write_text(compact({**defaults, "mcpServers": servers}), encoding="utf-8")
    return {DEFAULTS: str(file)}


def _defaults() -> JsonObject:
    try:
        return object_of(json.loads(DEFAULTS_FILE.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def keys(request: RunRequest) -> tuple[str, ...]:
    """Those of the provider of the model."""
    return KEYS.get(request.model.provider if request.model else "", OWN_KEYS)


def unsupported(request: RunRequest) -> Iterator[str]:
    """Warn of a thinking level, and of a provider that is in its settings only."""
    yield from without_thinking("qwen")(request)
    if "write" in request.tools and "edit" not in request.tools:
        yield "qwen writes only when it may edit as well, so the subagent may."
    if request.model and request.model.provider not in {*AUTH, "qwen"}:
        yield f'qwen finds provider "{request.model.provider}" in its own settings, or not at all.'


def _assistant(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """One message is one request, unless it is an error in words or a part without a count."""
    message = object_of(record.get("message"))
    if not API_ERROR.fullmatch(texts_of(message.get("content")).strip()):
        yield from assistant(record, run)
    usage = object_of(message.get("usage"))
    if count(usage.get("output_tokens")):
        yield from run.spends(used(usage, requests=1, is_without_cached=False))


def _result(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """The counts are of the session. An error of the provider arrives as a success whose text says so."""
    total = used(object_of(record.get("usage")), requests=0, is_without_cached=False)
    yield from run.has_spent(total, of_session=True)
    match record:
        case {"subtype": "success", "is_error": False, "result": str(answer)} if not API_ERROR.fullmatch(
            answer.strip()
        ):
            yield from run.ends(answer)
        case _:
            yield from run.fails(reason(record))


QWEN: Final = Agent(
    **program.QWEN.facts,
    provider="qwen",
    arguments=arguments,
    table={**MESSAGES, "assistant": _assistant, "result": _result},
    tools=TOOLS,
    writes={"edit": "file_path", "write_file": "file_path"},
    keys=keys,
    settings=settings,
    unsupported=unsupported,
)
