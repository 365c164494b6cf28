"""The functions and tools that the cases of 003 name, each with what of the library does it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from golden_outcome import Outcome
from golden_recording import Json
from golden_world import World

from ohm_subagents._plugins.suites.finalization import finalize_tool, payload
from ohm_subagents.contract import Err, Finalized, ToolPolicy
from ohm_subagents.plugin import ToolCall
from ohm_subagents.suites.sticky.agents import parse_prompt
from ohm_subagents.suites.sticky.inputs import parse_session_id
from ohm_subagents.suites.sticky.item import tools_of
from ohm_subagents.suites.sticky.options import SESSIONS, expanded
from ohm_subagents.suites.sticky.sessions import StickySession

FINALIZE = "subagent_finalize"


async def finalize(_world: World, call: Json) -> Outcome:
    """The tool as every child gets it."""
    found: list[Finalized] = []
    result = await finalize_tool(None, found.append).execute(ToolCall(arguments=call["args"]))
    assert result.is_error is not bool(found)
    facts: Json = {"valid": not result.is_error, "error": result.text if result.is_error else ""}
    return Outcome(facts=facts | {"finalized": payload(found[0]) if found else {}})


async def load_prompt(_world: World, call: Json) -> Outcome:
    file = call.get("file", "scout.md")
    parsed = parse_prompt(call["content"], source=file, stem=Path(file).stem, is_local=True)
    if parsed is None:
        return Outcome(facts={"loaded": False, "rejected": False, "prompt": {}})
    _, read = parsed
    if isinstance(read, Err):
        return Outcome(facts={"loaded": False, "rejected": True, "error": read.err_value.message, "prompt": {}})
    profile = read.ok_value
    is_white = profile.tools.allowed is not None
    prompt: Json = {
        "name": profile.name,
        "description": profile.summary,
        "mode": "whitelist" if is_white else "blacklist",
        "tools": [*(profile.tools.allowed or profile.tools.denied)],
        "systemPrompt": profile.prompt,
    }
    return Outcome(facts={"loaded": True, "rejected": False, "error": "", "prompt": prompt})


async def resolve_tools(_world: World, call: Json) -> Outcome:
    policy, active = call["args"]
    named = tuple(policy.get("tools", ()))
    given = ToolPolicy(allowed=named) if policy["mode"] == "whitelist" else ToolPolicy(denied=named)
    return Outcome(facts={"value": [*tools_of(given, active)]})


async def session_path(world: World, call: Json) -> Outcome:
    """Return where a session is, or several are; an id that is none is refused before."""
    asked = call["args"] if isinstance(call["args"][0], list) else [call["args"]]
    found: list[str] = []
    for cwd, agent, session_id in asked:
        refused = parse_session_id(session_id)
        if isinstance(refused, Err):
            return Outcome(error=refused.err_value)
        folder = expanded(SESSIONS, world.place.home)
        session = StickySession.of(folder, cwd=Path(cwd), agent=agent, session_id=session_id)
        found.append(re.sub(f"^{re.escape(str(world.place.home))}", "~", str(session.path)))
    return Outcome(facts={"value": found[0] if len(found) == 1 else found, "all_equal": len({*found}) == 1})


def session_files(world: World) -> list[Path]:
    """The sessions that are kept."""
    return sorted(expanded(SESSIONS, world.place.home).glob("*/*.jsonl"))


STICKY_FUNCTIONS: Mapping[str, Callable[[World, Json], Awaitable[Outcome]]] = {
    "load_prompt": load_prompt,
    "resolve_tools": resolve_tools,
    "session_path": session_path,
}
