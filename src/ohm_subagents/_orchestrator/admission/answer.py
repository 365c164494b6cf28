"""Check that the answer a profile demands can be handed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.json_schema import schema_fault
from ohm_subagents.contract.profile import FINALIZE

if TYPE_CHECKING:
    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents.contract.profile import Profile


def unfit(profile: Profile) -> OhmError | None:
    """Check the answer that a profile demands; one made in Python was not checked when it was read.

    Returns `profile_invalid`.
    """
    if profile.result_schema is None:
        return None
    fault = schema_fault(profile.result_schema)
    if fault is not None:
        fact, advice = f"has a result_schema that is not a JSON schema: {fault}.", "Fix the schema or remove it."
    elif profile.finalize is None:
        fact, advice = "has a result_schema, but its answer is not handed in.", "Set `finalize='required'` beside it."
    else:
        return None
    return OhmError(code=ErrorCode.PROFILE_INVALID, message=f"Profile '{profile.id}' {fact}", advice=advice)


def unsupported(profile: Profile, spec: BackendSpec | None) -> OhmError | None:
    """Return an error if the profile demands `subagent_finalize` and the backend cannot give it."""
    if profile.finalize is None or spec is None:
        return None
    if spec.capabilities & {Capability.CHILD_TOOLS, Capability.FINALIZE}:
        return None
    return OhmError(
        code=ErrorCode.FINALIZE_UNSUPPORTED,
        message=f"Profile '{profile.id}' demands {FINALIZE}, and backend '{spec.id}' gives subagents no such tool.",
        advice="Run it on a backend that gives tools to subagents, or take 'finalize' out of the profile.",
    )
