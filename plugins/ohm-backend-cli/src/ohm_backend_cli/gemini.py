"""Gemini CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_backend_cli import program
from ohm_backend_cli.agent import Agent, bound_to, named, without_thinking
from ohm_backend_cli.shapes import compact, count, object_of
from ohm_backend_cli.stream import Ending
from ohm_subagents.plugin import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_backend_cli.run_state import RunState
    from ohm_backend_cli.start import Start
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.plugin import JsonObject, RunRequest
    from ohm_subagents.shell import Ended

TOOLS: Final = {
    "read": "read_file",
    "bash": "run_shell_command",
    "edit": "replace",
    "write": "write_file",
    "grep": "grep_search",
    "find": "glob",
    "ls": "list_directory",
}
KEYS: Final = (
    *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GEMINI_CLI_HOME"),
    *("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_APPLICATION_CREDENTIALS"),
    *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
)
DENY_ALL: Final = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 500\n'


def arguments(start: Start) -> list[str]:
    """Return a policy by which the tools of the request run unasked, and no others are there."""
    request = start.request
    policy = start.folder / "tools.toml"
    policy.write_text(_policy(named(request, TOOLS)), encoding="utf-8")
    argv = ["--output-format", "stream-json", "--approval-mode", "default", f"--policy={policy}"]
    argv += ["--model", request.model.model] if request.model else []
    return argv + (["--resume", start.session] if start.session else [])


def _policy(tools: list[str]) -> str:
    if not tools:
        return DENY_ALL
    return f'{DENY_ALL}\n[[rule]]\ntoolName = {compact(tools)}\ndecision = "allow"\npriority = 900\n'


def settings(start: Start) -> dict[str, str]:
    """Return the instructions, in place of its own."""
    if not start.request.instructions:
        return {}
    file = start.folder / "system.md"
    file.write_text(start.request.instructions, encoding="utf-8")
    return {"GEMINI_SYSTEM_MD": str(file)}


def unsupported(request: RunRequest) -> Iterator[str]:
    """Warn of a thinking level, and of another provider than its own."""
    yield from without_thinking("gemini")(request)
    yield from bound_to("gemini", "google")(request)


def http_status(ended: Ended) -> int | None:
    """It exits with the status of the answer, of which the system keeps the lowest eight bits."""
    return ended.code + 256 if not ended.was_stopped and 400 <= ended.code + 256 < 512 else None


def _init(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"session_id": str(session), "model": str(model)}:
            yield from run.runs(model)
            yield from run.begins(session)
        case _:
            pass


def _message(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"role": "assistant", "content": str(text)}:
            yield from run.says(text)
        case _:
            pass


def _tool_use(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"tool_id": str(call_id), "tool_name": str(tool)}:
            yield from run.calls(call_id, tool, record.get("parameters"))
        case _:
            pass


def _tool_result(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"tool_id": str(call_id), "output": str(text)} | {
            "tool_id": str(call_id),
            "error": {"message": str(text)},
        }:
            yield from run.returns(call_id, text, ok=record.get("status") == "success")
        case {"tool_id": str(call_id)}:
            yield from run.returns(call_id, "", ok=record.get("status") == "success")
        case _:
            pass


def _trouble(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    match record:
        case {"message": str(message)}:
            run.hint = message
            yield from run.warns(message)
        case _:
            pass


def _result(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """The counts are of this run; the number of requests is unknown."""
    stats = object_of(record.get("stats"))
    asked, all_of_them = count(stats.get("input_tokens")), count(stats.get("total_tokens"))
    if all_of_them:
        answered = max(count(stats.get("output_tokens")), all_of_them - asked)  # thoughts are in the total only
        cached = count(stats.get("cached"))
        yield from run.has_spent(Usage(requests=1, input_tokens=asked, output_tokens=answered, cached_tokens=cached))
    match record:
        case {"status": "success"}:
            yield from run.ends()
        case {"error": {"message": str(message)}}:
            yield from run.fails(message)
        case _:
            yield from run.fails(run.hint or "no reason given")


GEMINI: Final = Agent(
    **program.GEMINI.facts,
    provider="google",
    arguments=arguments,
    table={
        "init": _init,
        "message": _message,
        "tool_use": _tool_use,
        "tool_result": _tool_result,
        "error": _trouble,
        "result": _result,
    },
    tools=TOOLS,
    writes={"replace": "file_path", "write_file": "file_path"},
    keys=lambda _request: KEYS,
    settings=settings,
    unsupported=unsupported,
    ending=Ending(http_status=http_status),
)
