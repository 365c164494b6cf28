"""The command line of `pi` in its JSON and RPC modes, by what the installed release knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ohm_subagents.backends.pi.agent_flags import agent_flags, model_and_tools, with_long_prompts_in_files
from ohm_subagents.backends.pi.call_gate import gate_flags, write_gate
from ohm_subagents.backends.pi.config_files import has_extensions, users_directory
from ohm_subagents.backends.pi.finalizer import finalizer_flags, write_finalizer
from ohm_subagents.contract.diagnostics import TOOLLESS, Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.plugin import has_another_tool, missing_tools, overriding_model

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ohm_subagents.backends.pi.probe import PiVersion
    from ohm_subagents.plugin import RunRequest
    from ohm_subagents.shell import Invocation

Mode: TypeAlias = Literal["json", "rpc"]

MAX_TASK_CHARS: Final = 8000
"""A longer task is no argument, but a file."""
TOOLS: Final = ("read", "bash", "edit", "write", "grep", "find", "ls")
"""The tools of `pi` that a subagent may have."""
_OURS_ALONE: Final = "code_search"
"""Every profile that only reads has it, so its absence is no news."""

# What a project brings for `pi` (extensions, skills, templates, themes) stays out, for it may run code. So do the
# settings and the MCP servers of the project, which name programs to run, in releases that have a flag for that.
# AGENTS.md is only a text and stays in, as authors of projects expect of `pi`.
_ALWAYS: Final = ("--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes")
_WHERE_KNOWN: Final = ("--no-approve", "--no-mcp")


def session_file(folder: Path) -> Path:
    """Return the file of the conversation while the run goes on."""
    return folder / "session.jsonl"


def arguments(pi: PiVersion, invocation: Invocation, mode: Mode) -> tuple[str, ...]:
    """Return the arguments after the command. The prompt is not among them: it goes to standard input."""
    request, folder = invocation.request, invocation.folder
    if has_task_argument(request, mode):
        return _of_task(pi, invocation)
    ours = (*finalizer_flags(request, folder), *(gate_flags(request, folder) if mode == "rpc" else ()))
    if request.profile.agent is not None:
        return (
            *("--mode", mode),
            *(("-p",) if mode == "json" else ()),
            *(("--no-session",) if is_forgotten(request, mode) else ("--session", str(session_file(folder)))),
            *of_profile(pi, invocation),
            *ours,
        )
    return (
        *("--mode", mode),
        *("--session", str(session_file(folder))),
        *(("--system-prompt", str(_instructions_file(folder))) if request.instructions else ()),
        *(("--model", str(request.model)) if request.model is not None else ()),
        *tools_allowed(request),
        *_ALWAYS,
        *_where_known(pi),
        *ours,
    )


def has_task_argument(request: RunRequest, mode: Mode) -> bool:
    """Return True if the prompt is the last argument, so that nothing is written to standard input."""
    return mode == "json" and request.profile.agent is not None and request.profile.agent.has_task_argument


def _of_task(pi: PiVersion, invocation: Invocation) -> tuple[str, ...]:
    """Return the command line of a profile whose task is an argument."""
    request, folder = invocation.request, invocation.folder
    in_file = _task_file(invocation)
    return (
        *("--mode", "json", "--session", str(session_file(folder))),
        *_where_known(pi),
        *model_and_tools(request.profile, tools=agent_tools(request), model=overriding_model(request)),
        *finalizer_flags(request, folder),
        *("--system-prompt", str(_instructions_file(folder))),
        f"Task: {request.prompt}" if in_file is None else f"@{in_file}",
    )


def _task_file(invocation: Invocation) -> Path | None:
    """Return the file of the task if it cannot be an argument."""
    prompt = invocation.request.prompt
    return invocation.folder / "task.md" if len(prompt) > MAX_TASK_CHARS or "\0" in prompt else None


def is_forgotten(request: RunRequest, mode: Mode) -> bool:
    """Return True if the conversation need not be kept: it begins and ends with this run.

    One that has to hand in its answer may need a correction.
    """
    continues = request.checkpoint is not None or request.history or request.profile.finalize is not None
    return request.profile.agent is not None and mode == "json" and request.is_one_shot and not continues


def of_profile(pi: PiVersion, invocation: Invocation) -> tuple[str, ...]:
    """Return the flags of a profile with `agent`, below those that keep the project's own code out."""
    request = invocation.request
    profile, _ = with_long_prompts_in_files(request.profile, invocation)
    return (*_where_known(pi), *agent_flags(profile, tools=agent_tools(request), model=overriding_model(request)))


def agent_tools(request: RunRequest) -> tuple[str, ...] | None:
    """Return the tools of a profile with `agent`, in its own order; None if they are not restricted.

    A name that `pi` does not have may be one that an extension brings.
    """
    if not request.tools_are_bounded:
        return None
    place = {name.casefold(): number for number, name in enumerate(request.profile.tools.allowed or ())}
    names = (tool for tool in request.tools if tool != _OURS_ALONE or tool in place)
    return tuple(sorted(names, key=lambda name: place.get(name.casefold(), len(place))))


def tools_allowed(request: RunRequest) -> tuple[str, ...]:
    """Return the tools of the profile that `pi` has, and no others."""
    tools = ",".join(tool for tool in (*TOOLS, FINALIZE) if tool in request.tools)
    return ("--tools", tools) if tools else ("--no-tools",)


def write_instructions(invocation: Invocation) -> None:
    """Put the system prompt where the arguments name it: `pi` reads it from there, and no process list shows it."""
    profile, in_file = invocation.request.profile, _task_file(invocation)
    write_finalizer(invocation.request, invocation.folder)
    write_gate(invocation.request, invocation.folder)
    if profile.agent is not None and profile.agent.has_task_argument:
        _instructions_file(invocation.folder).write_text(profile.prompt, encoding="utf-8", errors="replace")
        if in_file is not None:
            in_file.write_text(f"Task: {invocation.request.prompt}", encoding="utf-8", errors="replace")
    if profile.agent is not None:
        for file, text in with_long_prompts_in_files(profile, invocation)[1].items():
            file.write_text(text, encoding="utf-8", errors="replace")
    elif invocation.request.instructions:
        file = _instructions_file(invocation.folder)
        file.write_text(invocation.request.instructions, encoding="utf-8", errors="replace")


def left_out(request: RunRequest) -> Iterable[DiagnosticRaised]:
    """Yield the tools of the profile that `pi` has not, or not of its own."""
    foreign = [tool for tool in request.tools if tool not in (*TOOLS, FINALIZE) and not _is_no_news(request, tool)]
    missing = [tool for tool in foreign if not _may_be(request, tool)]
    if missing:
        found = missing_tools(missing, request, f"pi has no tool {_named(missing)}")
        yield DiagnosticRaised(diagnostic=found)
    elif foreign and not has_another_tool(foreign, request):
        told = f"Only an extension of pi could bring the tool {_named(foreign)}; the subagent may have no tool."
        yield DiagnosticRaised(diagnostic=Diagnostic(subject=TOOLLESS, message=told))


def _named(tools: Iterable[str]) -> str:
    return ", ".join(f'"{tool}"' for tool in tools)


def _is_no_news(request: RunRequest, tool: str) -> bool:
    """Return True for a tool that no profile has asked for by name."""
    is_named = request.profile.agent is not None and tool in (request.profile.tools.allowed or ())
    return tool == _OURS_ALONE and not is_named


def _may_be(request: RunRequest, tool: str) -> bool:
    """Return True if an extension of `pi` may bring the tool. The todo tools are both ours and an extension's."""
    agent = request.profile.agent
    if agent is None:
        return False
    places = () if agent.no_extensions else (users_directory(request.env), request.cwd / ".pi")
    is_extended = bool(agent.extensions) or any(has_extensions(place) for place in places)
    return is_extended and all(tool != ours.name for ours in request.child_tools if not ours.only_if_named)


def _where_known(pi: PiVersion) -> Iterable[str]:
    return (flag for flag in _WHERE_KNOWN if flag in pi.flags)


def _instructions_file(folder: Path) -> Path:
    return folder / "instructions.md"
