"""How `pi` is called in its JSON and RPC modes, by what the installed release knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ohm_subagents._backends.shell.dialect import Invocation
    from ohm_subagents._backends.shell.pi.probe import PiVersion
    from ohm_subagents._plugins.interfaces import RunRequest

Mode: TypeAlias = Literal["json", "rpc"]

TOOLS: Final = ("read", "bash", "edit", "write", "grep", "find", "ls")
"""The tools of `pi` that a subagent may have."""
_OURS_ALONE: Final = "code_search"
"""Every profile that only reads has it, so its absence is no news (house 9.7)."""

# The project's own code stays out, and where `pi` can leave them its settings; its AGENTS.md stays in, as whoever wrote
# it expects of `pi`.
_ALWAYS: Final = ("--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes")
_WHERE_KNOWN: Final = ("--no-approve", "--no-mcp")


def session_file(folder: Path) -> Path:
    """Where the conversation of a run is kept while it goes on."""
    return folder / "session.jsonl"


def arguments(pi: PiVersion, invocation: Invocation, mode: Mode) -> tuple[str, ...]:
    """What follows the command. The prompt is not among it: it goes to standard input."""
    request, folder = invocation.request, invocation.folder
    return (
        *("--mode", mode),
        *("--session", str(session_file(folder))),
        *(("--system-prompt", str(_instructions_file(folder))) if request.instructions else ()),
        *(("--model", str(request.model)) if request.model is not None else ()),
        *tools_allowed(request),
        *_ALWAYS,
        *(flag for flag in _WHERE_KNOWN if flag in pi.flags),
    )


def tools_allowed(request: RunRequest) -> tuple[str, ...]:
    """The tools of the profile that `pi` has, and no others."""
    tools = ",".join(tool for tool in TOOLS if tool in request.tools)
    return ("--tools", tools) if tools else ("--no-tools",)


def write_instructions(invocation: Invocation) -> None:
    """Put the system prompt where the arguments name it: `pi` reads it from there, and no process list shows it."""
    if invocation.request.instructions:
        file = _instructions_file(invocation.folder)
        file.write_text(invocation.request.instructions, encoding="utf-8", errors="replace")


def left_out(request: RunRequest) -> Iterable[DiagnosticRaised]:
    """The tools of the profile that `pi` has not."""
    missing = [tool for tool in request.tools if tool not in TOOLS and tool != _OURS_ALONE]
    if missing:
        names = ", ".join(f'"{tool}"' for tool in missing)
        told = Diagnostic(subject="tools", message=f"pi has no tool {names}; the subagent works without it.")
        yield DiagnosticRaised(diagnostic=told)


def _instructions_file(folder: Path) -> Path:
    return folder / "instructions.md"
