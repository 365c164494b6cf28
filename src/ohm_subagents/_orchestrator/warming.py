"""Warm up: open and import before the first run of a profile what it would wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents._concurrency.faults import as_exception
from ohm_subagents._concurrency.shared_resource import READY_WITHIN_S
from ohm_subagents._orchestrator.admission.model_order import configured_model
from ohm_subagents._orchestrator.admission.settings import backend_of
from ohm_subagents._plugins.backends.preparation import not_ready
from ohm_subagents._policy.permissions import visible
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Result

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents._plugins.backends.pool import BackendPool
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.profile import Profile


async def warmed_up(
    names: tuple[str, ...], context: Result[AdmissionContext, OhmError], pool: BackendPool
) -> tuple[Diagnostic, ...]:
    """Open the backends and models of these profiles, or of every visible one that no feature flag keeps from running.

    One sentence for each that cannot be run so.
    """
    await checkpoint()
    if isinstance(context, Err):
        return (Diagnostic(subject="config", message=f"{context.err_value}"),)
    errors: dict[str, OhmError | None] = {}

    async def warm(profile: Profile) -> None:
        made = await _made(profile, context.ok_value, pool)
        errors[profile.id] = made.err_value if isinstance(made, Err) else None

    async with anyio.create_task_group() as group:
        for name in names or _roster(context.ok_value):
            found = context.ok_value.find(name)
            errors[name] = found.err_value if isinstance(found, Err) else None
            if not isinstance(found, Err):
                group.start_soon(warm, found.ok_value)
    return tuple(
        Diagnostic(subject=name, message=f"Subagent '{name}' is not warmed up: {error}")
        for name, error in errors.items()
        if error is not None
    )


def _roster(context: AdmissionContext) -> tuple[str, ...]:
    """Return the profiles that a caller sees and that may run."""
    profiles = visible(context.catalog.profiles, context.config.subagents.permissions)
    return tuple(one.id for one in profiles if one.feature is None or context.config.features.is_on(one.feature))


async def _made(profile: Profile, context: AdmissionContext, pool: BackendPool) -> Result[None, OhmError]:
    subagents = context.config.subagents
    own = subagents.entry(profile.id)
    configured = configured_model(profile, own, subagents)
    if isinstance(configured, Err):
        return configured
    model = configured.ok_value
    return await prepared(
        backend_of(profile, own, context.config), profile, None if model is None else model.pattern, pool
    )


async def prepared(
    backend: str, profile: Profile, model: ModelPattern | None, pool: BackendPool
) -> Result[None, OhmError]:
    """Open a backend and a model, as a run of the profile would; the error is that of such a run."""
    try:
        with anyio.move_on_after(READY_WITHIN_S):
            return await pool.prepared(backend, profile, model)
    except BaseException as exc:  # noqa: BLE001  a plugin may raise although it must not; a run of it will say more
        message = f"Backend '{backend}' failed to prepare: {type(as_exception(exc)).__name__}."
        return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message=message))
    return Err(not_ready(backend))
