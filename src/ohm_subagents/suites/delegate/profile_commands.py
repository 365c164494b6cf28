"""The answers of `ohm profiles`, `ohm profile <name>` and `ohm profile new <name>`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents import Ohm
from ohm_subagents.commands import BAD_USAGE, SUCCESS, TASK_FAILED, complain, print_text, report, system_clock
from ohm_subagents.config import agent_dir, process_env, unknown_of
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.model_pattern import FORM
from ohm_subagents.contract.place import Place
from ohm_subagents.contract.result import Err
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.plugin import CHILD_TOOLS, INTERACTIVE_SDK
from ohm_subagents.store import MemoryStore
from ohm_subagents.suites.delegate.agents import (
    AgentRepository,
    agent_profile_text,
    parse_agent_profile,
    unknown_agent,
)
from ohm_subagents.suites.delegate.profile_summary import masked, profile_summary
from ohm_subagents.suites.delegate.rules import refusal
from ohm_subagents.views import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.contract import OhmError, Profile
    from ohm_subagents.suites.delegate.agents import AgentRoster

_NONE: Final = "No agent profiles found. Add one with ohm profile new <name>, or as a .md file to:"
_OTHERS: Final = "The profiles of task and ohm run, also imported ones, are in 'ohm subagents'."


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProfile:
    """The options of a new file, as typed; a `prompt` of None is read from standard input."""

    name: str
    is_local: bool
    keys: Mapping[str, JsonValue]
    prompt: str | None
    cwd: Path


def print_agents(ohm: Ohm, _loaded: LoadedConfig) -> int:
    """Print every agent profile with its file; return the exit code."""
    agents = _agents(ohm)
    roster = agents.roster()
    if not roster.profiles:
        print_text("\n".join((_NONE, *(f"- {folder}" for folder in agents.folders), _OTHERS)))
        return SUCCESS
    print_text("\n".join(line for profile in roster.profiles.values() for line in _listed(profile, roster, agents)))
    return SUCCESS


def _agents(ohm: Ohm) -> AgentRepository:
    return AgentRepository(ohm.inspect().place, system_clock)


def _listed(profile: Profile, roster: AgentRoster, agents: AgentRepository) -> Iterator[str]:
    refused = _refusal(profile, agents)
    yield profile_summary(profile)
    yield f"  {_source(profile)}"
    if refused is not None:
        yield f"  not available: {refused}"
    yield from (f"  replaces {other}" for other in _replaced(profile, roster))


def _refusal(profile: Profile, agents: AgentRepository) -> OhmError | None:
    """Return the error of every task of the profile, as far as its file and the skills show."""
    return agents.complete(profile, ()).err()


def _source(profile: Profile) -> str:
    owner = "the project's" if profile.agent is not None and profile.agent.is_local else "yours"
    return f"{profile.source} ({owner})"


def _replaced(profile: Profile, roster: AgentRoster) -> tuple[str, ...]:
    return tuple(one.source for one in roster.read if one.name == profile.name and one is not profile)


def print_agent(name: str, ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print everything about one agent profile, or which ones there are; return the exit code."""
    roster = _agents(ohm).roster()
    profile = roster.profiles.get(name)
    if profile is None:
        unknown = unknown_agent(name, tuple(roster.profiles), ohm.profiles)
        for line in filter(None, (unknown.message, unknown.advice)):
            complain(line)
        return BAD_USAGE
    print_text("\n".join(_told(profile, roster, ohm, loaded)))
    return SUCCESS


def _told(profile: Profile, roster: AgentRoster, ohm: Ohm, loaded: LoadedConfig) -> Iterator[str]:
    agent = profile.agent or AgentOptions()
    refused = _refusal(profile, _agents(ohm))
    yield f"Agent profile: {profile.name}"
    yield f"source: {_source(profile)}"
    yield from (f"replaces: {other}" for other in _replaced(profile, roster))
    yield f"available: {'yes' if refused is None else f'no ({refused})'}"
    is_subagent = any(one.source == profile.source for one in ohm.inspect().profiles)
    yield f"subagent of task: {'yes' if is_subagent else 'no'} ({loaded.origin('subagents.agentProfiles')})"
    fields = {
        "provider": agent.provider,
        "model": agent.model,
        "thinkingLevel": agent.thinking,
        "apiKey": masked(agent.api_key) if agent.api_key else None,
        "tools": _tools(profile),
        "excludeTools": ", ".join(profile.tools.denied),
        "noExtensions": agent.no_extensions,
        "extensions": ", ".join(agent.extensions),
        "noSkills": agent.no_skills,
        "suggestedSkills": ", ".join(agent.suggested_skills),
        "loadSkills": ", ".join(agent.load_skills),
        "noContextFiles": agent.no_context_files,
        "extraArgs": ", ".join(agent.extra_args),
    }
    yield from (f"{key}: {'true' if value is True else one_line(str(value))}" for key, value in fields.items() if value)
    for title, text in (("System prompt:", profile.prompt), ("Appended system prompt:", agent.appended_prompt)):
        yield from ("", title, text) if text else ()


def _tools(profile: Profile) -> str:
    allowed = profile.tools.allowed
    return "" if allowed is None else ", ".join(allowed) or "none"


async def write_agent(typed: NewProfile) -> int:
    """Write a new file, never over an old one; return the exit code."""
    prompt = _standard_input() if typed.prompt is None else typed.prompt
    if prompt is None:
        complain("The prompt on standard input is not UTF-8 text.")
        return BAD_USAGE
    text = agent_profile_text({"name": typed.name, **typed.keys}, prompt)
    if isinstance(text, Err):
        complain(text.err_value)
        return BAD_USAGE
    unfit = _unfit(text.ok_value)
    if unfit is not None:
        complain(unfit)
        return BAD_USAGE
    agents = AgentRepository(Place(cwd=typed.cwd, agent_dir=agent_dir(process_env())), system_clock)
    others = [one for one in agents.roster().read if one.name == typed.name]
    taken = [one.source for one in others if one.agent is not None and one.agent.is_local == typed.is_local]
    if taken:
        complain(f"The agent profile '{typed.name}' exists: {taken[-1]}. Edit that file, or choose another name.")
        return BAD_USAGE
    try:
        path = agents.add(typed.name, text.ok_value, is_local=typed.is_local)
    except FileExistsError as error:
        complain(f"The file '{error.filename}' exists. Choose another name.")
        return BAD_USAGE
    except OSError as error:
        complain(f"The agent profile cannot be written to '{error.filename}': {error.strerror}.")
        return TASK_FAILED
    print_text(f"Wrote the agent profile '{typed.name}' to {path}.")
    for one in others:
        print_text(f"It replaces {one.source} here." if typed.is_local else f"Here {one.source} replaces it.")
    if not prompt.strip() and not typed.keys.get("appendSystemPrompt"):
        what = f"The profile '{typed.name}' has no instructions"
        complain(f"warning: {what}. Write them into the file, below its second '---'.")
    await _warn(str(path), typed)
    return SUCCESS


async def _warn(path: str, typed: NewProfile) -> None:
    """Say what of a new profile would not work here, as `ohm doctor` does."""
    async with Ohm.open(cwd=typed.cwd, suites=(), store=MemoryStore(system_clock)) as ohm:
        parts, settings = ohm.inspect(), ohm.config.subagents
        profile = next((one for one in parts.profiles if one.source == path), None)
        if profile is None:
            why = "another profile has its name" if settings.agent_profiles is None else "agentProfiles leaves it out"
            complain(f"warning: Only delegate_to_subagents runs it, and `ohm run` does not: {why}.")
        elif ohm.config.subagent_backend == INTERACTIVE_SDK:
            report(unknown_of(profile.tools, (*CHILD_TOOLS, *ohm.child_tools), parts.tool_prefixes))
            is_name = profile.agent is not None and profile.agent.model in settings.menu and not profile.agent.provider
            if profile.model is None and profile.agent and profile.agent.model and not is_name:
                complain(f"warning: The model '{profile.agent.model}' names no provider. Expected {FORM}.")
            elif profile.model is not None and parts.models.spec_of(profile.model) is None:
                known = sorted(one.provider for one in parts.models.specs)
                instead = f"{did_you_mean(profile.model.provider, known)}Available: {', '.join(known)}."
                complain(f"warning: No plugin offers the provider of '{profile.model}'. {instead}")


def _unfit(text: str) -> OhmError | None:
    """Return the error that keeps the profile from ever running, if any."""
    profile = parse_agent_profile(text, source="", is_local=False).profile
    return None if profile is None else refusal(profile)


def _standard_input() -> str | None:
    """Read standard input: empty for a terminal, None if it is no text."""
    if sys.stdin is None or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] it may be closed
        return ""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
