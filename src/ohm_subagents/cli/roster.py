"""`ohm subagents` and `ohm subagent <id>`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents.cli.readiness import Readiness, model_of
from ohm_subagents.commands import BAD_USAGE, SUCCESS, complain, print_text
from ohm_subagents.config import explain_limits, loop_policy
from ohm_subagents.contract.call_rules import ANY_CALL
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.result import Ok
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ohm_subagents import Ohm
    from ohm_subagents.config import Features, LoadedConfig, ResolvedTools
    from ohm_subagents.contract import ModelPattern, Profile

COMMAND: Final = "ohm subagent"
_NO_MODEL: Final = "runtime default"
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_UNRULED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})


def print_roster(ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print every profile that may be shown; return the exit code."""
    ready = Readiness(ohm, loaded)
    found = {profile.id: ready.obstacle(profile) for profile in ohm.profiles}
    obstacles = {profile_id: one.why for profile_id, one in found.items() if one is not None}
    given = {profile.id: ready.tools_of(profile) for profile in ohm.profiles}
    ruled = {profile_id: tuple(_rules(one.ok_value)) for profile_id, one in given.items() if isinstance(one, Ok)}
    print_text(roster_text(ohm.profiles, loaded, command=COMMAND, obstacles=obstacles, rules=ruled))
    return SUCCESS


def print_every_agent(ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print the agents of every kind with their files, those that may not be shown too; return the exit code."""
    parts, config = ohm.inspect(), loaded.config
    lines = ["Subagents of task and ohm run:", *map(_agent_line, parts.profiles)]
    for name, suite in parts.suites.items():
        if suite.agents is not None:
            lines += ["", f"Agents of {name}{'' if name in config.suites else ' (not mounted)'}:"]
            try:
                agents = tuple(suite.agents(parts.place, config.suite_options.get(name, {})))
            except Exception as error:  # noqa: BLE001  a fault of a plugin costs its own lines alone
                lines.append(f"The suite cannot list them: {type(error).__name__}: {error}.")
            else:
                lines += map(_agent_line, agents) if agents else ["none"]
    print_text("\n".join(lines))
    return SUCCESS


def _agent_line(profile: Profile) -> str:
    """Return the id of an agent, its kind and its file."""
    kind = f"agent of {profile.suite}" if profile.suite else "agent" if profile.agent else "profile"
    return f"- {profile.id}: {kind}, {profile.source or 'of a plugin'}"


def print_profile(profile_id: str, ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print one profile, or which ones there are; return the exit code."""
    wanted = fold_id(profile_id)
    profile = next((profile for profile in ohm.profiles if fold_id(profile.id) == wanted), None)
    if profile is None:
        meant = did_you_mean(profile_id, (one.id for one in ohm.profiles))
        complain(f"No subagent is called '{profile_id}'. {meant}".rstrip() + "\n")
        complain(usage_text(ohm.profiles, command=COMMAND))
        return BAD_USAGE
    ready, named = Readiness(ohm, loaded), model_of(profile, loaded)
    found = ready.obstacle(profile)
    text = profile_text(
        profile,
        loaded.config.features,
        model=None if named is None else named.pattern,
        why=None if found is None else found.why,
        facts=tuple(_facts(profile, ready)),
        limits=tuple(_limits(profile, loaded)),
    )
    print_text(text)
    return SUCCESS


def roster_text(
    profiles: Iterable[Profile],
    loaded: LoadedConfig,
    *,
    command: str,
    obstacles: Mapping[str, str] = _NONE,
    rules: Mapping[str, tuple[str, ...]] = _UNRULED,
) -> str:
    """Return the roster; `command` is how a person asks for one profile.

    `obstacles` are the reasons why one would not run, `rules` lines about the commands that one may run, both by id.
    """
    config = loaded.config
    return "\n".join(
        [
            "Pi OHM: subagents",
            "",
            f"enabled: {_yes(config.features.subagents)}",
            f"backend: {config.subagent_backend}",
            "",
            "Scaffolded subagents:",
            *(
                line
                for profile in profiles
                for line in (
                    _line(profile, config.features, obstacles.get(profile.id)),
                    *(f"  {rule}" for rule in rules.get(profile.id, ())),
                )
            ),
            "",
            f"Use {command} <id> to inspect one profile.",
            f"loadedFrom: {', '.join(loaded.loaded_from) or 'defaults'}",
        ]
    )


def profile_text(
    profile: Profile,
    features: Features,
    *,
    model: ModelPattern | None,
    why: str | None = None,
    facts: tuple[str, ...] = (),
    limits: tuple[str, ...] = (),
) -> str:
    """Return one profile; `model` is what the configuration names for it, `why` the reason that it would not run.

    `facts` are lines about what a run comes to, `limits` about what it may take.
    """
    return "\n".join(
        [
            f"Subagent: {profile.name}",
            f"id: {profile.id}",
            f"available: {f'no ({why})' if why else _yes(_is_available(profile, features))}",
            f"invocation: {_invocation(profile)}",
            f"model: {f'{model.provider}/{model.model}' if model else _NO_MODEL}",
            f"thinking: {(model and model.thinking) or _NO_MODEL}",
            f"modelPattern: {model or _NO_MODEL}",
            "requiresPackage: none",
            *facts,
            *(("", "Limits:", *limits) if limits else ()),
            *(("", "When to use:", *(f"- {use}" for use in profile.when_to_use)) if profile.when_to_use else ()),
            "",
            "Scaffold prompt:",
            profile.prompt,
        ]
    )


def _facts(profile: Profile, ready: Readiness) -> Iterator[str]:
    """Yield what a run comes to: model, backend, tools; and the file of the profile."""
    model, tools = ready.model_of(profile), ready.tools_of(profile).ok()
    if model:
        yield f"runs on: {model}"
    yield f"backend: {ready.backend_of(profile)}"
    if tools is not None:
        names = ", ".join(tools.shown) or "none"
        yield f"tools: {names if tools.are_bounded else f'all ({names})'}"
        yield from _rules(tools)
        yield from (f"tools left out: {one}" for one in tools.diagnostics)
    if profile.source:
        yield f"file: {profile.source}"


def _rules(tools: ResolvedTools) -> Iterator[str]:
    """Yield the rules for the calls of a subagent."""
    for rules in tools.call_rules:
        place = f" ({rules.source})" if rules.source else ""
        if rules.allow is not None:
            yield f"{rules.tool} only: {', '.join(rules.allow)}{place}"
        if rules.ask:
            asked = "every call" if ANY_CALL in rules.ask else ", ".join(rules.ask)
            yield f"{rules.tool} asks: {asked}{place}"
        if rules.deny:
            yield f"{rules.tool} never: {', '.join(rules.deny)}{place}"


def _limits(profile: Profile, loaded: LoadedConfig) -> Iterator[str]:
    for one in explain_limits(profile, loaded):
        yield f"- {one.key.removeprefix('limits.')}: {one.value} ({one.source})"
    loop = loop_policy(profile, loaded.config.subagents.entry(profile.id), loaded.config)
    rules = {
        "identicalCalls": loop.identical_calls,
        "alternations": loop.alternations,
        "sameResults": loop.same_results,
    }
    loops = (f"{name} {number or 'off'}" for name, number in rules.items())
    yield f"- loop: {', '.join(loops)}"
    if loop.polling:
        yield f"- may repeat: {', '.join(loop.polling)}"


def usage_text(profiles: Iterable[Profile], *, command: str) -> str:
    """Return the usage and the valid ids, for an id that does not exist."""
    return f"Usage: {command} <id>\n\nValid ids: {', '.join(profile.id for profile in profiles)}"


def _line(profile: Profile, features: Features, why: str | None) -> str:
    if _is_available(profile, features):
        available = f"unavailable: {why}" if why else "available"
    else:
        available = f"requires features.{profile.feature}"
    return f"- {profile.name} ({profile.id}): {profile.summary} [{available} · {_invocation(profile)}]"


def _is_available(profile: Profile, features: Features) -> bool:
    return profile.feature is None or features.is_on(profile.feature)


def _invocation(profile: Profile) -> str:
    return "primary-tool" if profile.primary else "task-routed"


def _yes(claim: bool) -> str:  # noqa: FBT001  a word for a claim
    return "yes" if claim else "no"
