"""Settings of subagents and of backends that there are not."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._config.load import LoadedConfig


def unmatched_entries(
    loaded: LoadedConfig, profile_ids: Iterable[str], *, unlisted: str = ""
) -> tuple[Diagnostic, ...]:
    """Names each `subagents.<id>` that is no subagent's: a misspelt id would otherwise pass unseen.

    `unlisted` is a name that may have settings and is no subagent.
    """
    available = {fold_id(profile_id): profile_id for profile_id in sorted(profile_ids) if profile_id != unlisted}
    return tuple(
        Diagnostic(
            subject=f"subagents.{written}",
            message=f"{_place(loaded, f'subagents.profiles.{written}')}: the settings for '{written}' name no "
            f"subagent. {_instead(written, available)}",
        )
        for written in loaded.config.subagents.profiles
        if written not in {*available, unlisted}
    )


def unmatched_backends(loaded: LoadedConfig, backend_ids: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Names each `subagents.backends.<id>` that no plugin offers."""
    available = {backend_id: backend_id for backend_id in sorted(backend_ids)}
    return tuple(
        Diagnostic(
            subject=f"subagents.backends.{written}",
            message=f"{_place(loaded, f'subagents.backends.{written}')}: no plugin offers the backend '{written}', "
            f"so its options have no effect. {_instead(written, available)}",
        )
        for written in loaded.config.subagents.backends
        if written not in available
    )


def unmatched_suites(loaded: LoadedConfig, suites: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Names each suite of `suiteOptions` and of `subagents.redact` that no plugin offers."""
    available = {suite: suite for suite in sorted(suites)}
    redact = loaded.config.subagents.redact
    written = [(f"suiteOptions.{suite}", suite, "its options have") for suite in loaded.config.suite_options]
    written += [("subagents.redact", suite, "the name has") for suite in (() if isinstance(redact, bool) else redact)]
    return tuple(
        Diagnostic(
            subject=key,
            message=f"{_place(loaded, key)}: no plugin offers the tool suite '{suite}', so {what} no effect. "
            f"{_instead(suite, available)}",
        )
        for key, suite, what in written
        if suite not in available
    )


def unmatched_agents(chosen: bool | tuple[str, ...], names: Iterable[str]) -> tuple[Diagnostic, ...]:  # noqa: FBT001  the setting itself
    """Names each of `subagents.agentProfiles` that is no agent profile."""
    available = {name: name for name in sorted(names)}
    wanted = chosen if isinstance(chosen, tuple) else ()
    return tuple(
        Diagnostic(
            subject="subagents.agentProfiles",
            message=f"'subagents.agentProfiles' names '{name}', which is no agent profile. {_instead(name, available)}",
        )
        for name in wanted
        if name not in available
    )


def _place(loaded: LoadedConfig, key: str) -> str:
    """Where a key is written; an empty object has no place of its own."""
    written = next((at for name, at in loaded.origins.items() if name.startswith(f"{key}.")), loaded.origin(key))
    return "ohm.json" if written == "default" else written


def _instead(written: str, available: dict[str, str]) -> str:
    near = get_close_matches(written, available, n=1, cutoff=0.7)
    hint = f"Did you mean '{available[near[0]]}'? " if near else ""
    return f"{hint}Available: {', '.join(available.values()) or '(none)'}."
