"""`ohm policy explain <id>`: the verdict on a subagent, and its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.cli.readiness import Readiness
from ohm_subagents.commands import BAD_USAGE, SUCCESS, TASK_FAILED, complain, print_text
from ohm_subagents.config import effective_decision, is_hidden, judge_call
from ohm_subagents.contract.call_rules import RULED_TOOL
from ohm_subagents.contract.profile import CHILD_TOOLS, Decision, PermissionRequest, fold_id
from ohm_subagents.contract.result import Err
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ohm_subagents import Ohm
    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.contract import Profile

DENIED = TASK_FAILED


def print_verdict(profile_id: str, ohm: Ohm, loaded: LoadedConfig, *, tool: str = "", command: str = "") -> int:
    """Print the verdict on a subagent, and on its call of a tool if one is named.

    The exit code is 0 when it may run, and call it, 1 when it is denied, 2 when there is no such subagent or tool.
    """
    if command and not tool:
        complain(f"--args is '{command}', and no tool is named. Add --tool {RULED_TOOL}, whose command it is.")
        return BAD_USAGE
    parts = ohm.inspect()
    wanted = fold_id(profile_id)
    profile = next((one for one in parts.profiles if fold_id(one.id) == wanted), None)
    if profile is None:
        ids = sorted(one.id for one in parts.profiles)
        complain(f"No subagent is called '{profile_id}'. {did_you_mean(profile_id, ids)}Available: {', '.join(ids)}.")
        return BAD_USAGE
    ready = Readiness(ohm, loaded)
    if tool and (missing := _unknown(profile, tool, ready, (*CHILD_TOOLS, *ohm.child_tools))):
        complain(missing)
        return BAD_USAGE
    opinions = parts.opinions(_request(profile, ready))
    rules = ohm.config.subagents.permissions
    decision = effective_decision(profile=profile, permissions=rules, opinions=lambda: opinions)
    print_text("\n".join(_explained(profile, decision, opinions, loaded)))
    if not tool:
        return SUCCESS if decision.verdict == "allow" else DENIED
    call = _of_call(profile, tool, command, ready)
    said = f" on '{command}'" if command else ""
    print_text(f"call of {tool}{said}: {call.verdict}\ndecided by: {call.source}")
    if call.reason:
        print_text(f"because: {call.reason}")
    return SUCCESS if decision.verdict == call.verdict == "allow" else DENIED


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


def _of_call(profile: Profile, tool: str, command: str, ready: Readiness) -> Decision:
    """Return the verdict on a call of a tool; one that the subagent has not is denied."""
    tools = ready.tools_of(profile)
    if isinstance(tools, Err):
        return Decision(verdict="deny", source="tools", reason=tools.err_value.message)
    if not any(fold_id(tool) == fold_id(name) for name in tools.ok_value.names):
        names = ", ".join(tools.ok_value.names) or "none"
        return Decision(verdict="deny", source="tools", reason=f"its tools are: {names}")
    return judge_call(tools.ok_value.call_rules, tool, {"command": command})


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
