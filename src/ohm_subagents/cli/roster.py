"""`ohm subagents` and `ohm subagent <id>`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._orchestrator.admission.model_order import configured_model
from ohm_subagents._terminal.exits import BAD_USAGE, SUCCESS, complain
from ohm_subagents._terminal.terminal import print_text
from ohm_subagents.cli.model_choice import resolved_model
from ohm_subagents.cli.readiness import obstacle
from ohm_subagents.config import explain_limits, loop_policy
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.result import Ok

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ohm_subagents import Ohm
    from ohm_subagents.config import Features, LoadedConfig
    from ohm_subagents.contract import ModelPattern, Profile

COMMAND: Final = "ohm subagent"
_NO_MODEL: Final = "runtime default"
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def print_roster(ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print every profile that may be shown; the exit code."""
    found = {profile.id: obstacle(profile, ohm, loaded) for profile in ohm.profiles}
    obstacles = {profile_id: one.why for profile_id, one in found.items() if one is not None}
    print_text(roster_text(ohm.profiles, loaded, command=COMMAND, obstacles=obstacles))
    return SUCCESS


def print_profile(profile_id: str, ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print one profile, or which ones there are; the exit code."""
    wanted = fold_id(profile_id)
    profile = next((profile for profile in ohm.profiles if fold_id(profile.id) == wanted), None)
    if profile is None:
        complain(f"No subagent is called '{profile_id}'.\n")
        complain(usage_text(ohm.profiles, command=COMMAND))
        return BAD_USAGE
    subagents = loaded.config.subagents
    named = configured_model(profile, subagents.entry(profile.id), subagents.model)
    model = named.ok_value.pattern if isinstance(named, Ok) and named.ok_value is not None else None
    found = obstacle(profile, ohm, loaded)
    why = None if found is None else found.why
    limits = tuple(_limits(profile, loaded))
    runs_on = resolved_model(profile, loaded, ohm.inspect().models)
    print_text(profile_text(profile, loaded.config.features, model=model, why=why, limits=limits, runs_on=runs_on))
    return SUCCESS


def roster_text(
    profiles: Iterable[Profile], loaded: LoadedConfig, *, command: str, obstacles: Mapping[str, str] = _NONE
) -> str:
    """The roster; `command` is how a person asks for one profile, `obstacles` why a profile would not run, by id."""
    config = loaded.config
    return "\n".join(
        [
            "Pi OHM: subagents",
            "",
            f"enabled: {_yes(config.features.subagents)}",
            f"backend: {config.subagent_backend}",
            "",
            "Scaffolded subagents:",
            *(_line(profile, config.features, obstacles.get(profile.id)) for profile in profiles),
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
    limits: tuple[str, ...] = (),
    runs_on: str | None = None,
) -> str:
    """One profile; `model` is what the configuration names for it, `why` the reason that it would not run.

    `limits` are lines about what it may take, `runs_on` the model that it would get, and why.
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
            *((f"runs on: {runs_on}",) if runs_on else ()),
            *(("", "Limits:", *limits) if limits else ()),
            "",
            "When to use:",
            *(f"- {use}" for use in profile.when_to_use),
            "",
            "Scaffold prompt:",
            profile.prompt,
        ]
    )


def _limits(profile: Profile, loaded: LoadedConfig) -> Iterator[str]:
    for one in explain_limits(profile, loaded):
        yield f"- {one.key.removeprefix('limits.')}: {one.value} ({one.source})"
    loop = loop_policy(profile, loaded.config.subagents.entry(profile.id), loaded.config)
    rules = {
        "identicalCalls": loop.identical_calls,
        "alternations": loop.alternations,
        "sameResults": loop.same_results,
    }
    told = ", ".join(f"{name} {number or 'off'}" for name, number in rules.items())
    yield f"- loop: {told}"
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
