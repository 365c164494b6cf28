"""`ohm policy explain <id>`: the verdict on a subagent or a task, and its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._terminal.lookup import tasks_alike
from ohm_subagents.cli.call_policy import Explained, of_profile, of_task
from ohm_subagents.cli.readiness import Readiness
from ohm_subagents.commands import BAD_USAGE, SUCCESS, TASK_FAILED, complain, find_task, print_text
from ohm_subagents.config import effective_decision, is_hidden
from ohm_subagents.contract.call_rules import RULED_TOOL
from ohm_subagents.contract.profile import ASK_PARENT, CHILD_TOOLS, Decision, PermissionRequest, fold_id
from ohm_subagents.contract.result import Err
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ohm_subagents import Ohm
    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.contract import Profile, Task

DENIED = TASK_FAILED
_TASK: Final = "task_"
"""The beginning of the id of a task."""


def print_verdict(
    profile_id: str, ohm: Ohm, loaded: LoadedConfig, *, tool: str = "", command: str = "", file: Path | None = None
) -> int:
    """Print the verdict on a subagent or a task, and on its call of a tool if one is named.

    `file` is the ohm.json of `--config`.
    The exit code is 0 when it may run, and call it, 1 when it is denied or asked about, 2 when there is no such
    subagent, task or tool.
    """
    if command and not tool:
        complain(f"--args is '{command}', and no tool is named. Add --tool {RULED_TOOL}, whose command it is.")
        return BAD_USAGE
    task = ohm.task(profile_id)
    if task is not None:
        return _print_task(task, ohm, tool=tool, args=command)
    parts = ohm.inspect()
    wanted = fold_id(profile_id)
    profile = next((one for one in parts.profiles if fold_id(one.id) == wanted), None)
    if profile is None:
        if wanted.startswith(_TASK) or tasks_alike(profile_id, ohm.store):
            found = find_task(profile_id, ohm.store, ohm.config, op="status", file=file, as_json=False)
            return BAD_USAGE if isinstance(found, int) else _print_task(found, ohm, tool=tool, args=command)
        ids = sorted(one.id for one in parts.profiles)
        complain(f"No subagent is called '{profile_id}'. {did_you_mean(profile_id, ids)}Available: {', '.join(ids)}.")
        return BAD_USAGE
    ready = Readiness(ohm, loaded)
    if tool and (missing := _unknown(profile, tool, ready, (*CHILD_TOOLS, *ohm.child_tools, ASK_PARENT))):
        complain(missing)
        return BAD_USAGE
    opinions = parts.opinions(_request(profile, ready))
    rules = ohm.config.subagents.permissions
    decision = effective_decision(profile=profile, permissions=rules, opinions=lambda: opinions)
    if decision.verdict == "allow" and (unclear := _unclear(profile, ready)):
        decision = Decision(verdict="deny", source="settings that cannot be followed", reason=unclear)
    print_text("\n".join(_explained(profile, decision, opinions, loaded)))
    if not tool:
        return SUCCESS if decision.verdict == "allow" else DENIED
    code = _print_call(tool, command, of_profile(profile, tool, command, ready, parts.place.cwd))
    return code if decision.verdict == "allow" else DENIED


def _unclear(profile: Profile, ready: Readiness) -> str:
    """Return the fault of the tools or the budget that keeps a subagent from running; empty for sound ones."""
    tools = ready.tools_of(profile)
    return str(tools.err_value) if isinstance(tools, Err) else ready.entry_of(profile).unclear


def _unknown(profile: Profile, tool: str, ready: Readiness, offered: Iterable[str]) -> str | None:
    """Return the sentence that refuses a tool that nothing offers; None for one that may be there.

    A command-line agent has tools of its own, and a source is asked for its tools before a run.
    """
    tools = ready.tools_of(profile).ok()
    known = tuple(dict.fromkeys((*offered, *(() if tools is None else tools.names))))
    prefixes = ready.parts.tool_prefixes
    if any(fold_id(tool) == fold_id(name) for name in known) or fold_id(tool).startswith(tuple(map(fold_id, prefixes))):
        return None
    others = f"; those of servers begin with {', '.join(prefixes)}" if prefixes else ""
    return f"There is no tool '{tool}'. {did_you_mean(tool, known)}Available: {', '.join(known)}{others}."


def _print_call(tool: str, args: str, explained: Explained) -> int:
    """Print the verdict on a call and the steps to it; return the exit code."""
    call, said = explained.decision, f" on '{args}'" if args else ""
    print_text(f"call of {tool}{said}: {call.verdict}\ndecided by: {call.source}")
    if call.reason:
        print_text(f"because: {call.reason}")
    if explained.steps:
        print_text("\n".join(("steps:", *map(str, explained.steps))))
    if call.is_default:
        print_text("where nobody can answer: allowed, and told in the envelope (subagents.requests.unattended)")
    return SUCCESS if call.verdict == "allow" or call.is_default else DENIED


def _print_task(task: Task, ohm: Ohm, *, tool: str, args: str) -> int:
    """Print the settings that let a task run, and the verdict on a call of it."""
    launch = task.launch
    if launch is None:
        complain(f"Task '{task.id}' has no launch record: it was refused, or is of an earlier version.")
        return BAD_USAGE
    print_text(f"Task: {task.id}\nSubagent: {launch.profile}\nallowed by: {launch.permission or 'default'}")
    if launch.ceiling is not None:
        by = launch.ceiling.holder
        print_text(
            f"ceiling: the tools of '{by}', which started it" if by else "ceiling: `allow` and `deny` of its call"
        )
    if not tool:
        print_text(f"tools: {', '.join(launch.tools) or 'none'}")
        return SUCCESS
    return _print_call(tool, args, of_task(task, launch, tool, args, ohm))


def _request(profile: Profile, ready: Readiness) -> PermissionRequest:
    """Return the request that plugins get before a start; its prompt is not known yet."""
    tools, cwd = ready.tools_of(profile).ok(), ready.parts.place.cwd
    return PermissionRequest(
        profile=profile, description="", prompt="", cwd=cwd, tools=() if tools is None else tools.shown
    )


def _explained(
    profile: Profile, decision: Decision, opinions: tuple[Decision, ...], loaded: LoadedConfig
) -> Iterator[str]:
    permissions, features = loaded.config.subagents.permissions, loaded.config.features
    yield f"Subagent: {profile.id}"
    yield f"verdict: {decision.verdict}"
    yield f"decided by: {decision.source}"
    if decision.reason:
        yield f"because: {decision.reason}"
    routing = "hidden" if is_hidden(profile, permissions) else "routing is allowed"
    yield f"internal: yes, {routing} ({permissions.routing_source})" if profile.internal else "internal: no"
    for opinion in opinions:
        yield f"plugin: {opinion.verdict} from {opinion.source}" + (f" ({opinion.reason})" if opinion.reason else "")
    if not features.subagents:
        yield f"off: features.subagents is false ({loaded.origin('features.subagents')})"
    if profile.feature is not None and not features.is_on(profile.feature):
        yield f"off: features.{profile.feature} is false ({loaded.origin(f'features.{profile.feature}')})"
