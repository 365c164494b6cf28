"""Settings of subagents that there are not."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._config.load import LoadedConfig


def unmatched_entries(loaded: LoadedConfig, profile_ids: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Names each `subagents.<id>` that is no subagent's: a misspelt id would otherwise pass unseen."""
    available = {fold_id(profile_id): profile_id for profile_id in sorted(profile_ids)}
    return tuple(
        _diagnostic(loaded, written, available)
        for written in loaded.config.subagents.profiles
        if written not in available
    )


def _diagnostic(loaded: LoadedConfig, written: str, available: dict[str, str]) -> Diagnostic:
    key = f"subagents.profiles.{written}"
    place = next((at for name, at in loaded.origins.items() if name.startswith(f"{key}.")), loaded.origin(key))
    near = get_close_matches(written, available, n=1, cutoff=0.7)
    hint = f"Did you mean '{available[near[0]]}'? " if near else ""
    return Diagnostic(
        subject=f"subagents.{written}",
        message=f"{place}: the settings for '{written}' name no subagent. {hint}"
        f"Available: {', '.join(available.values())}.",
    )
