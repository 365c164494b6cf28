"""Tell what a start of a subagent would meet here: its model, its tools, and the obstacles, without running it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ohm_subagents.config import configured_model, effective_decision, resolve_tools, unknown_of
from ohm_subagents.contract import Err, Ok
from ohm_subagents.contract.model_pattern import FORM
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.plugin import CHILD_TOOLS, profile_key, validated_options
from ohm_subagents.plugin import INTERACTIVE_SDK as IN_PROCESS
from ohm_subagents.plugin import INTERACTIVE_SHELL as SHELL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_subagents import Inspection, Ohm
    from ohm_subagents.config import LoadedConfig, NamedModel, ResolvedTools, SubagentEntry
    from ohm_subagents.contract import ModelPattern, OhmError, Profile, Result
    from ohm_subagents.plugin import BackendSpec, JsonObject, ModelChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """The reason why a subagent, or a backend, would not run."""

    why: str
    is_fault: bool = True
    """True for a setting that cannot work, False for a choice."""
    is_bootstrap: bool = False
    """True if `sdkFallbackToCli` would help."""


class Readiness:
    """The state of the subagents and backends of an `Ohm` whose configuration could be read."""

    def __init__(self, ohm: Ohm, loaded: LoadedConfig) -> None:
        self._ohm = ohm
        self._loaded = loaded

    @cached_property
    def parts(self) -> Inspection:
        """Return the parts of the `Ohm`."""
        return self._ohm.inspect()

    def backend_of(self, profile: Profile) -> str:
        """Return the backend of a call that names none."""
        config = self._loaded.config
        return config.subagents.entry(profile.id).backend or profile.backend or config.subagent_backend

    def entry_of(self, profile: Profile) -> SubagentEntry:
        """Return what ohm.json says of a profile."""
        return self._loaded.config.subagents.entry(profile.id)

    def is_ours(self, profile: Profile) -> bool:
        """Return True if the backend leaves the choice of a model to us."""
        return self.backend_of(profile) == IN_PROCESS

    def model_of(self, profile: Profile) -> str | None:
        """Return the model that a run would get, and why; None if there is none, or it is not known beforehand."""
        if self.is_ours(profile):
            chosen = chosen_model(profile, self._loaded, self.parts.models)
        else:
            chosen = _named(profile, self._loaded)
        return None if chosen is None else f"{chosen[0]}, {chosen[1]}"

    def tools_of(self, profile: Profile) -> Result[ResolvedTools, OhmError]:
        """Return the tools that a run would get, and those that are left out, or why there is no run."""
        offered = self._ohm.child_tools
        found = resolve_tools(
            profile.tools,
            self._loaded.config.subagents.entry(profile.id).tools,
            offered=tuple(offered),
            only_if_named=tuple(name for name, tool in offered.items() if tool.only_if_named),
            sources=self.parts.tool_prefixes,
            is_agent=profile.agent is not None,
        )
        if isinstance(found, Err) or profile.agent is None or not self.is_ours(profile):
            return found
        known = (*CHILD_TOOLS, *offered)  # in this process there are no others, whatever a command-line agent knows
        names = tuple(name for name in found.ok_value.names if name in known)
        unknown = unknown_of(profile.tools, known, self.parts.tool_prefixes)
        return Ok(replace(found.ok_value, names=names, diagnostics=(*found.ok_value.diagnostics, *unknown)))

    def obstacle(self, profile: Profile) -> Obstacle | None:
        """Return the first obstacle to a profile, in the order in which a start meets them.

        An agent profile that only its suite was meant to run is a choice, and no fault.
        """
        found = next(self._obstacles(profile), None)
        is_chosen = not (profile.suite and profile.agent) or self._loaded.config.subagents.agent_profiles is not None
        return found if found is None or is_chosen else replace(found, is_fault=False)

    def _unusable(self, spec: BackendSpec) -> Obstacle | None:
        return unusable(spec, self._loaded, self.parts.place.env)

    def _obstacles(self, profile: Profile) -> Iterator[Obstacle]:
        config = self._loaded.config
        for feature in filter(None, ("subagents", profile.feature)):
            if not config.features.is_on(feature):
                origin = self._loaded.origin(f"features.{feature}")
                yield Obstacle(why=f"off: features.{feature} is false ({origin})", is_fault=False)
        own = config.subagents.entry(profile.id)
        tools = self.tools_of(profile)
        if isinstance(tools, Err):
            yield Obstacle(why=str(tools.err_value))
        if own.unclear:
            yield Obstacle(why=own.unclear)
        configured = _configured(profile, self._loaded)
        if isinstance(configured, Err):
            yield Obstacle(why=str(configured.err_value))
        decision = effective_decision(profile=profile, permissions=config.subagents.permissions, opinions=lambda: ())
        if decision.verdict == "deny":
            yield Obstacle(why=f"denied by {decision.source}", is_fault=False)
        yield from self._of_backend(self.backend_of(profile), profile)

    def _of_backend(self, backend_id: str, profile: Profile) -> Iterator[Obstacle]:
        backends = self.parts.backends
        spec = backends.get(backend_id)
        if spec is None:
            instead = f"{did_you_mean(backend_id, backends)}Available: {', '.join(sorted(backends))}."
            yield Obstacle(why=f"no plugin offers the backend '{backend_id}'. {instead}")
            return
        if (obstacle := self._unusable(spec)) is not None:
            yield Obstacle(why=obstacle.why)
        for found in self._of_model(profile) if backend_id == IN_PROCESS else ():
            if not (found.is_bootstrap and self._loaded.config.sdk_fallback_to_cli):
                yield found
            elif (obstacle := self._unusable(backends[SHELL])) is not None:
                yield Obstacle(why=f"{SHELL}, which would run it: {obstacle.why}")

    def _of_model(self, profile: Profile) -> Iterator[Obstacle]:
        models = self.parts.models
        chosen = chosen_model(profile, self._loaded, models)
        if chosen is None:
            missing = (
                f"no model; set subagents.{profile.id}.model or subagents.model in ohm.json, or OHM_MODEL, "
                "or the key of a provider"
            )
            if profile.agent is not None and profile.agent.model:
                missing = f"the model '{profile.agent.model}' of its file names no provider; expected {FORM}"
            yield Obstacle(why=missing, is_fault=False, is_bootstrap=True)
            return
        pattern, decided = chosen
        spec = models.spec_of(pattern)
        if spec is None:
            known = sorted(one.provider for one in models.specs)
            instead = f"{did_you_mean(pattern.provider, known)}Available: {', '.join(known)}."
            yield Obstacle(why=f"no plugin offers the provider of {pattern}, {decided}. {instead}")
        elif not models.has_key(spec) and profile_key(profile, spec.provider) is None:
            yield Obstacle(why=f"{pattern}, {decided}, needs {' or '.join(spec.key_names)}", is_bootstrap=True)
        elif (command := spec.lacks()) is not None:
            yield Obstacle(why=f"{pattern}, {decided}, needs {command}", is_bootstrap=True)


def unusable(spec: BackendSpec, loaded: LoadedConfig | None, env: Mapping[str, str]) -> Obstacle | None:
    """Return the obstacle to a backend: a fault of `subagents.backends.<id>` with its place, or what the backend lacks.

    The obstacle leaves out the value, which may be a secret. A backend without settings is no fault.
    """
    written: Mapping[str, JsonObject] = loaded.config.subagents.backends if loaded else {}
    options = validated_options(spec, written)
    if isinstance(options, Err):
        if loaded is None or spec.id not in written:
            return Obstacle(why=str(options.err_value), is_fault=False)
        return Obstacle(why=f"{loaded.place(f'subagents.backends.{spec.id}')}: {options.err_value}")
    lacking = spec.lacks(options.ok_value, env)
    return None if lacking is None else Obstacle(why=lacking, is_fault=False)


def chosen_model(profile: Profile, loaded: LoadedConfig, models: ModelChoice) -> tuple[ModelPattern, str] | None:
    """Return the model that `interactive-sdk` would run and why; None when there is none.

    The switch to pi comes before the last resort.
    """
    named = _named(profile, loaded)
    if named is not None:
        return named
    match models.choose(None, replace(profile, fallback_model=None) if loaded.config.sdk_fallback_to_cli else profile):
        case Err():
            return None
        case Ok(pattern) if pattern == profile.fallback_model:
            has_key = any(spec.default_model and models.has_key(spec) for spec in models.specs)
            reason = "the SDK of no provider with a key is installed" if has_key else "no key is set"
            return pattern, f"because nothing names a model and {reason}"
        case Ok(pattern):
            return pattern, f"because a key of {pattern.provider} is set"


def model_of(profile: Profile, loaded: LoadedConfig) -> NamedModel | None:
    """Return the model that the configuration or the profile names; None if neither does, or it cannot be read."""
    return _configured(profile, loaded).ok()


def _configured(profile: Profile, loaded: LoadedConfig) -> Result[NamedModel | None, OhmError]:
    subagents = loaded.config.subagents
    return configured_model(profile, subagents.entry(profile.id), subagents)


def _named(profile: Profile, loaded: LoadedConfig) -> tuple[ModelPattern, str] | None:
    named = model_of(profile, loaded)
    if named is None:
        return None
    name = f" as '{named.name}'" if named.name else ""
    return named.pattern, f"set by {_origin(named, profile, loaded)}{name}"


def _origin(named: NamedModel, profile: Profile, loaded: LoadedConfig) -> str:
    match named.by:
        case "call" | "session":
            return f"the {named.by}"
        case "subagent":
            return f"subagents.{profile.id}.model ({loaded.origin(f'subagents.profiles.{profile.id}.model')})"
        case "profile":
            return f"the profile {profile.source or profile.id}"
        case "common":
            return f"subagents.model ({loaded.origin('subagents.model')})"
