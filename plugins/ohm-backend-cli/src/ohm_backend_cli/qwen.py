"""Qwen Code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ohm_backend_cli.agent import Agent, named, without_thinking
from ohm_backend_cli.messages import MESSAGES, assistant, reason, used
from ohm_backend_cli.shapes import count, object_of, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_backend_cli.run_state import RunState
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.plugin import JsonObject, RunRequest
    from ohm_subagents.shell import Invocation

TOOLS: Final = {
    "read": "read_file",
    "bash": "run_shell_command",
    "edit": "edit",
    "write": "write_file",
    "grep": "grep_search",
    "find": "glob",
    "ls": "list_directory",
}
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


def arguments(invocation: Invocation, session: str | None) -> list[str]:
    """Only the tools of the request, which it then may use unasked."""
    request = invocation.request
    tools = named(request, TOOLS)
    tools += ["edit"] if "write_file" in tools and "edit" not in tools else []
    argv = ["--output-format", "stream-json", "--include-partial-messages", "--approval-mode", "default"]
    for tool in tools:
        argv += [f"--core-tools={tool}", f"--allowed-tools={tool}"]
    argv += [] if tools else ["--core-tools=none"]
    argv += [f"--exclude-tools={tool}" for tool in UNASKED]
    argv += [f"--append-system-prompt={request.instructions}"] if request.instructions else []
    if request.model:
        argv += ["--model", request.model.model]
        auth = AUTH.get(request.model.provider)
        argv += ["--auth-type", auth] if auth else []
    return argv + (["--resume", session] if session else [])


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
    id="qwen",
    product="Qwen Code",
    install="npm install -g @qwen-code/qwen-code",
    provider="qwen",
    arguments=arguments,
    table={**MESSAGES, "assistant": _assistant, "result": _result},
    tools=TOOLS,
    writes={"edit": "file_path", "write_file": "file_path"},
    keys=keys,
    unsupported=unsupported,
)
