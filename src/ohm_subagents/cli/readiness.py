"""The obstacles to a subagent here, as far as they show without running it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents.cli.model_choice import backend_of, chosen_model, unclear_model
from ohm_subagents.config import resolve_tools, standing
from ohm_subagents.contract.result import Err
from ohm_subagents.plugin import INTERACTIVE_SDK as IN_PROCESS
from ohm_subagents.plugin import INTERACTIVE_SHELL as SHELL
from ohm_subagents.plugin import validated_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents import Ohm
    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.contract import Profile
    from ohm_subagents.plugin import BackendSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """The reason why a subagent would not run. A fault is a setting that cannot work; anything else is a choice.

    `is_bootstrap`: `sdkFallbackToCli` would help.
    """

    why: str
    is_fault: bool = True
    is_bootstrap: bool = False


def obstacle(profile: Profile, ohm: Ohm, loaded: LoadedConfig) -> Obstacle | None:
    """The first obstacle, in the order in which a start meets them."""
    return next(_obstacles(profile, ohm, loaded), None)


def unusable(spec: BackendSpec, ohm: Ohm) -> Obstacle | None:
    """Return the obstacle to a backend: a fault of `subagents.backends.<id>`, or what the backend lacks.

    The obstacle leaves out the value, which may be a secret. A backend without settings is no fault.
    """
    written = ohm.config.subagents.backends
    options = validated_options(spec, written)
    if isinstance(options, Err):
        return Obstacle(why=str(options.err_value), is_fault=spec.id in written)
    lacking = spec.lacks(options.ok_value, ohm.inspect().place.env)
    return None if lacking is None else Obstacle(why=lacking, is_fault=False)


def _obstacles(profile: Profile, ohm: Ohm, loaded: LoadedConfig) -> Iterator[Obstacle]:
    config = loaded.config
    for feature in filter(None, ("subagents", profile.feature)):
        if not config.features.is_on(feature):
            origin = loaded.origin(f"features.{feature}")
            yield Obstacle(why=f"off: features.{feature} is false ({origin})", is_fault=False)
    own = config.subagents.entry(profile.id)
    tools = resolve_tools(profile.tools, own.tools, offered=tuple(ohm.child_tools), is_agent=profile.agent is not None)
    if isinstance(tools, Err):
        yield Obstacle(why=str(tools.err_value))
    if own.unclear:
        yield Obstacle(why=own.unclear)
    if unclear := unclear_model(profile, loaded):
        yield Obstacle(why=unclear)
    decision = standing(profile=profile, permissions=config.subagents.permissions, opinions=())
    if decision.verdict == "deny":
        yield Obstacle(why=f"denied by {decision.source}", is_fault=False)
    yield from _of_backend(backend_of(profile, loaded), profile, ohm, loaded)


def _of_backend(backend_id: str, profile: Profile, ohm: Ohm, loaded: LoadedConfig) -> Iterator[Obstacle]:
    config, backends = loaded.config, ohm.inspect().backends
    spec = backends.get(backend_id)
    if spec is None:
        yield Obstacle(why=f"no plugin offers the backend '{backend_id}'; available: {', '.join(sorted(backends))}")
        return
    if (obstacle := unusable(spec, ohm)) is not None:
        yield Obstacle(why=obstacle.why)
    for found in _of_model(profile, ohm, loaded) if backend_id == IN_PROCESS else ():
        if not (found.is_bootstrap and config.sdk_fallback_to_cli):
            yield found
        elif (obstacle := unusable(backends[SHELL], ohm)) is not None:
            yield Obstacle(why=f"{SHELL}, which would run it: {obstacle.why}")


def _of_model(profile: Profile, ohm: Ohm, loaded: LoadedConfig) -> Iterator[Obstacle]:
    book = ohm.inspect().models
    chosen = chosen_model(profile, loaded, book)
    if chosen is None:
        missing = (
            f"no model; set subagents.{profile.id}.model or subagents.model in ohm.json, or OHM_MODEL, "
            "or a key that ohm doctor lists"
        )
        yield Obstacle(why=missing, is_fault=False, is_bootstrap=True)
        return
    pattern, decided = chosen
    spec = next((one for one in book.specs if one.provider == pattern.provider), None)
    if spec is None:
        known = ", ".join(sorted(one.provider for one in book.specs))
        yield Obstacle(why=f"no plugin offers the provider of {pattern}, {decided}; available: {known}")
    elif not book.has_key(spec):
        yield Obstacle(why=f"{pattern}, {decided}, needs {' or '.join(spec.key_names)}", is_bootstrap=True)
