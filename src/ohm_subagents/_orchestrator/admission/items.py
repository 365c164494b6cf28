"""Checks of an item before anything is decided: its texts, its values, its suite, its directory, its profile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents.contract.commands import StartItem, check_cwd
from ohm_subagents.contract.limits import Limits, LoopPolicy
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.replies import ItemRejected
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents.contract.errors import OhmError


_PROFILE: Final = (str, Profile)


def profile_of(item: StartItem, prompt: str, context: AdmissionContext) -> Result[Profile, ItemRejected]:
    """Return the profile of an item, complete; an item that is unusable, or that its suite refuses, has none."""
    unusable = _mistyped(item)
    if unusable is not None:
        return Err(ItemRejected(item=item, error=unusable))
    refusal = wordless(item, prompt) or item.refusal or check_cwd(item.overrides.cwd)
    found = context.find(item.profile) if refusal is None else Err(refusal)
    if isinstance(found, Err):
        return Err(ItemRejected(item=item, error=found.err_value, profile=context.known_id(item.profile)))
    schema = item.overrides.result_schema
    return found if schema is None else Ok(replace(found.ok_value, finalize="required", result_schema=schema))


def wordless(item: StartItem, prompt: str) -> OhmError | None:
    """Return an error for the first text that is blank, or that cannot go everywhere as it is."""
    return text_fault("prompt", prompt) or text_fault("description", item.description)


def text_fault(field: str, text: object) -> OhmError | None:
    """Return the error of one text; None for a good one."""
    try:
        is_good = isinstance(text, str) and bool(text.strip()) and b"\0" not in text.encode()
    except UnicodeEncodeError:
        is_good = False
    return None if is_good else refusals.unusable(field, text)


def _mistyped(item: StartItem) -> OhmError | None:
    """Return an error for a value that is no profile, no `Limits` or no `LoopPolicy`."""
    asked = item.overrides
    if not isinstance(cast("object", item.profile), _PROFILE):
        return refusals.no_profile(item.profile)
    return refusals.mistyped("limits", asked.limits, Limits) or refusals.mistyped("loop", asked.loop, LoopPolicy)
