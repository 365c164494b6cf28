"""The functions that the cases of 001 name, each with what of the library does it."""

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from golden_outcome import Outcome
from golden_recording import Json
from golden_world import World

from ohm_subagents._config.trust import trust_everything
from ohm_subagents.contract import Profile
from ohm_subagents.redaction.redactor import Redaction
from ohm_subagents.suite import Place
from ohm_subagents.suites.single.agents import load_agents, parse_agent
from ohm_subagents.suites.single.child_prompt import child_prompt
from ohm_subagents.suites.single.details import SubagentErrorCode
from ohm_subagents.suites.single.settings import FILE, SingleSettings, load_settings
from ohm_subagents.suites.single.tool_policy import tools_of

SETTINGS = {
    "enabled": "enabled",
    "maxDepth": "max_depth",
    "timeoutMs": "timeout_ms",
    "idleTimeoutMs": "idle_timeout_ms",
    "allowWrite": "allow_write",
    "allowLspTools": "allow_lsp_tools",
    "allowedLspActions": "allowed_lsp_actions",
    "injectDelegationPolicy": "injects_policy",
}


async def sanitize_output(world: World, call: Json) -> Outcome:
    (text,) = call["args"]
    return Outcome(facts={"value": Redaction(homes=(str(world.place.home),)).text(text)})


async def load_agent(_world: World, call: Json) -> Outcome:
    profile = parse_agent(call["content"], source="agents/case.md", is_local=False)
    agent = {} if profile is None else documented(profile)
    return Outcome(facts={"loaded": profile is not None, "agent": agent})


def documented(profile: Profile) -> Json:
    assert profile.agent is not None
    return {
        "name": profile.name,
        "description": profile.summary,
        "readonly": profile.agent.is_readonly,
        "tools": None if profile.tools.allowed is None else [*profile.tools.allowed],
        "model": profile.agent.model,
        "systemPrompt": profile.prompt,
    }


async def discover_agents(world: World, call: Json) -> Outcome:
    cwd = Path(call.get("cwd", world.place.cwd))
    found = load_agents(Place(cwd=cwd, agent_dir=world.place.agent_dir, trusts=trust_everything)).profiles
    agents = {name: documented(profile) for name, profile in found.items()}
    facts: Json = {
        "names": [*agents],
        "all_readonly": all(agent["readonly"] for agent in agents.values()),
        "tools": {name: agent["tools"] for name, agent in agents.items()},
        "sources": {name: source(profile) for name, profile in found.items()},
    }
    return Outcome(facts=facts)


def source(profile: Profile) -> str:
    assert profile.agent is not None
    if profile.source.startswith("builtin/"):
        return "builtin"
    return "project" if profile.agent.is_local else "user"


def settings_of(content: Json) -> SingleSettings:
    """Return what the library reads from a file of this content."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(content), encoding="utf-8")
        return load_settings(Path(folder))[0]


async def filter_tools(_world: World, call: Json) -> Outcome:
    agent, settings = call["args"]
    declared = agent.get("tools")
    kept = tools_of(
        None if declared is None else tuple(declared),
        settings_of({"subagents": settings}),
        is_readonly=bool(agent.get("readonly")),
    )
    return Outcome(facts={"value": None if kept is None else [*kept]})


async def resolve_config(_world: World, call: Json) -> Outcome:
    (content,) = call["args"]
    settings = settings_of(content)
    value: Json = {key: getattr(settings, name) for key, name in SETTINGS.items()}
    value["allowedLspActions"] = [*settings.allowed_lsp_actions]
    value["retry"] = {"enabled": settings.retries, "maxAttempts": settings.max_attempts}
    return Outcome(facts={"value": value})


async def error_codes(_world: World, _call: Json) -> Outcome:
    return Outcome(facts={"value": [*SubagentErrorCode]})


async def build_child_prompt(_world: World, call: Json) -> Outcome:
    (asked,) = call["args"]
    value = child_prompt(
        agent=asked["agentName"],
        role=asked["agentSystemPrompt"],
        task=asked["task"],
        tools=asked.get("agentTools"),
        is_readonly=asked["isReadonly"],
        depth=asked["childDepth"],
        max_depth=asked["maxDepth"],
    )
    return Outcome(facts={"value": value})


async def collect_output(world: World, call: Json) -> Outcome:
    """Return what the tool makes of a child that tells this."""
    world.children.every({"events": call["jsonl"]})
    result = await world.ohm.call("subagent", {"agent": "explorer", "task": "collect"})
    (one,) = result.details["results"]
    is_final = one["exitCode"] == 0
    value: Json = {"final": is_final, "usage": one["usage"], "output": one.get("output") or one.get("error", "")}
    if not is_final:
        value |= {"error": one["error"], "partialOutput": one.get("output")}
    return Outcome(facts={"value": value})


DEVKIT_FUNCTIONS: Mapping[str, Callable[[World, Json], Awaitable[Outcome]]] = {
    "sanitize_output": sanitize_output,
    "load_agent": load_agent,
    "discover_agents": discover_agents,
    "filter_tools": filter_tools,
    "resolve_config": resolve_config,
    "error_codes": error_codes,
    "build_child_prompt": build_child_prompt,
    "collect_output": collect_output,
}
