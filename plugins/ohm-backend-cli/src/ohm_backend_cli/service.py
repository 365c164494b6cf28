"""The services of ohm.json, as agents get to know them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents.plugin import Err, ErrorCode, Ok, missing_key, unknown_model

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.plugin import CompatibleProvider, OhmError, Result, RunRequest

KEY: Final = "OHM_SERVICE_KEY"
"""The variable with the key of the service, for an agent that is told of one."""


def service_of(
    request: RunRequest, services: Iterable[CompatibleProvider]
) -> Result[CompatibleProvider | None, OhmError]:
    """Return the service that the model is of; None for one of a provider that the agent itself knows."""
    pattern = request.model
    service = next((one for one in services if pattern is not None and one.name == pattern.provider), None)
    if pattern is None or service is None:
        return Ok(None)
    if service.models and all(one.id != pattern.model for one in service.models):
        return Err(unknown_model(service, pattern))
    if service.api_key_env and not request.env.get(service.api_key_env, "").strip():
        return Err(missing_key(pattern, (service.api_key_env,)))
    return Ok(service)


def advised(error: OhmError, api: str, service: CompatibleProvider | None) -> OhmError:
    """Return the error of an unknown model with advice that names the setting, for an agent that asks services."""
    if error.code != ErrorCode.MODEL_UNKNOWN or not api:
        return error
    advice = "Check the names of the model and its provider; a service is configured under providers of ohm.json."
    if service is not None:
        advice = (
            f"Check the name of the model and providers.{service.name}.baseUrl of ohm.json. "
            f"This backend asks services by the {api} API, which not every service has."
        )
    return replace(error, advice=advice)


def key_of(service: CompatibleProvider, request: RunRequest) -> dict[str, str]:
    """Return the variable with the key of a service, if it takes one."""
    return {KEY: request.env[service.api_key_env].strip()} if service.api_key_env else {}
