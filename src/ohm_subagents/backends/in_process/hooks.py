"""The plugin `interactive-sdk`: the backend in this process, and the model providers that it knows by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.backends.in_process.options import BACKEND_ID
from ohm_subagents.backends.in_process.programs import WITHOUT_RIPGREP, find_ripgrep
from ohm_subagents.backends.in_process.providers import builtin_model_specs, custom_model_specs
from ohm_subagents.backends.in_process.spec import interactive_sdk_spec
from ohm_subagents.plugin import OHM_JSON, BackendContext, BackendSpec, Diagnostic, ModelSpec, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents.backends.in_process.options import InProcessOptions
    from ohm_subagents.plugin import Place, Profile


@hookimpl
def ohm_backends(context: BackendContext) -> Iterable[BackendSpec[InProcessOptions]]:
    """Offer the backend."""
    yield interactive_sdk_spec(context)


@hookimpl
def ohm_models(context: BackendContext) -> Iterable[ModelSpec]:
    """Offer the services of the user, then the providers that are known by name."""
    ours = [one for one in context.providers if one.source == OHM_JSON]
    listed = [one for one in context.providers if one.source != OHM_JSON]
    known = builtin_model_specs(context.env, listed)
    names = {spec.provider for spec in known}
    yield from custom_model_specs((*ours, *(one for one in listed if one.name not in names)), context.env)
    taken = {one.name for one in ours}  # a service of the user takes the place of the one that is known by its name
    yield from (spec for spec in known if spec.provider not in taken)  # of which models.json only says more


@hookimpl
def ohm_profiles(config: Mapping[str, JsonValue], place: Place) -> Iterable[Profile]:
    """Offer no profile; ask here, where the place is known, whether the context files of a project are trusted."""
    backends = config.get("backends")
    own = backends.get(BACKEND_ID) if isinstance(backends, dict) else None
    names = own.get("contextFiles") if isinstance(own, dict) else None
    if isinstance(names, list):
        from ohm_subagents.backends.in_process.context_files import look_up  # noqa: PLC0415  most users name none

        look_up(place.cwd, [f"{name}" for name in names], place.trusts)
    return ()


@hookimpl
def ohm_checks() -> Iterable[Diagnostic]:
    """Say which ripgrep the tool `grep` uses, or that there is none."""
    program = find_ripgrep()
    if program is None:
        yield Diagnostic(subject="ripgrep", message=WITHOUT_RIPGREP)
    else:
        yield Diagnostic(subject="ripgrep", message=f"ripgrep: {program}", severity="info")
