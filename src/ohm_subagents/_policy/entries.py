"""Warn about settings for profiles, backends, suites or plugins that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._config.load import DEFAULT
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from ohm_subagents._config.load import LoadedConfig
    from ohm_subagents.contract.diagnostics import Severity
    from ohm_subagents.contract.profile import Profile

_VOID: Final = "its options have no effect"


def unmatched_entries(
    loaded: LoadedConfig, profile_ids: Iterable[str], *, unlisted: Collection[str] = ()
) -> tuple[Diagnostic, ...]:
    """Name each `subagents.<id>` that is no subagent's; `unlisted` may have settings and is none."""
    available = {fold_id(profile_id): profile_id for profile_id in sorted(profile_ids) if profile_id not in unlisted}
    return tuple(
        Diagnostic(
            subject=f"subagents.{written}",
            message=f"{loaded.place(f'subagents.profiles.{written}')}: the settings for '{written}' name no "
            f"subagent. {_instead(written, available)}",
        )
        for written in loaded.config.subagents.profiles
        if written not in {*available, *unlisted}
    )


def unmatched_delegates(
    loaded: LoadedConfig, profiles: Iterable[Profile], profile_ids: Iterable[str]
) -> tuple[Diagnostic, ...]:
    """Name each subagent in a list `delegate` of ohm.json or of a profile that there is not: it is granted nothing."""
    available = {fold_id(profile_id): profile_id for profile_id in sorted(profile_ids)}
    own = loaded.config.subagents.profiles
    lists = [(loaded.place(f"subagents.profiles.{name}.delegate"), name, entry.delegate) for name, entry in own.items()]
    replaced = {name for _, name, names in lists if names is not None}
    lists += [(one.source or one.id, one.id, one.delegate) for one in profiles if fold_id(one.id) not in replaced]
    return tuple(
        Diagnostic(
            subject=f"subagents.{name}.delegate",
            message=f"{place}: 'delegate' of '{name}' names '{written}', which is no subagent, and grants it nothing. "
            f"{_instead(written, available)}",
        )
        for place, name, names in lists
        for written in names or ()
        if fold_id(written) not in available
    )


def unmatched_backends(
    loaded: LoadedConfig, backend_ids: Collection[str], type_ids: Callable[[], Iterable[str]]
) -> tuple[Diagnostic, ...]:
    """Name each backend that subagents are to run on, and each `subagents.backends.<id>`, that no plugin offers.

    One whose type a plugin offers is offered too. `type_ids` is called only if some options name a type.
    """
    written = {one: options.get("type") for one, options in loaded.config.subagents.backends.items()}
    plain = [(f"subagents.backends.{one}", one, _VOID) for one, named in written.items() if named is None]
    types = [
        (f"subagents.backends.{one}.type", str(named), f"the options of '{one}' have no effect")
        for one, named in written.items()
        if named is not None and one not in backend_ids
    ]
    return (
        *_unoffered(loaded, "backend", _chosen_backends(loaded), backend_ids, severity="error"),
        *_unoffered(loaded, "backend", plain, backend_ids),
        *_unoffered(loaded, "backend type", types, type_ids() if types else ()),
    )


def _chosen_backends(loaded: LoadedConfig) -> Iterator[tuple[str, str, str]]:
    """Yield the keys that choose a backend, with the backend, and who does not run where there is none."""
    if loaded.origin("subagentBackend") != DEFAULT:
        yield "subagentBackend", loaded.config.subagent_backend, "no subagent without a backend of its own runs"
    for name, entry in loaded.config.subagents.profiles.items():
        if entry.backend is not None:
            yield f"subagents.profiles.{name}.backend", entry.backend, f"'{name}' does not run"


def unmatched_suites(loaded: LoadedConfig, suites: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Name each suite of `suiteOptions` and of `subagents.redact` that no plugin offers."""
    redact = loaded.config.subagents.redact
    written = [(f"suiteOptions.{suite}", suite, _VOID) for suite in loaded.config.suite_options]
    written += [
        ("subagents.redact", suite, "the name has no effect") for suite in (() if isinstance(redact, bool) else redact)
    ]
    return tuple(_unoffered(loaded, "tool suite", written, suites))


def unmatched_plugins(
    loaded: LoadedConfig, installed: Iterable[str], commands: Callable[[], Iterable[str]]
) -> tuple[Diagnostic, ...]:
    """Name each plugin of `loadPlugins` and `blockPlugins` that is not installed.

    The names of `commands`, which take long to look up, are asked for only where no plugin has a name.
    """
    available = {name: name for name in sorted(installed)}
    lists = {"loadPlugins": loaded.config.load_plugins or (), "blockPlugins": loaded.config.block_plugins}
    if any(name not in available for names in lists.values() for name in names):
        available = {name: name for name in sorted({*available, *commands()})}
    return tuple(
        Diagnostic(
            subject=key,
            message=f"{loaded.place(key)}: '{key}' names '{name}', which is not installed. {_instead(name, available)}",
        )
        for key, names in lists.items()
        for name in dict.fromkeys(names)
        if name not in available
    )


def unmatched_agents(loaded: LoadedConfig, names: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Name each of `subagents.agentProfiles` that is no agent profile."""
    chosen, key = loaded.config.subagents.agent_profiles, "subagents.agentProfiles"
    available = {name: name for name in sorted(names)}
    return tuple(
        Diagnostic(
            subject=key,
            message=f"{loaded.place(key)}: '{key}' names '{name}', which is no agent profile. "
            f"{_instead(name, available)}",
        )
        for name in (chosen if isinstance(chosen, tuple) else ())
        if name not in available
    )


def _unoffered(
    loaded: LoadedConfig,
    kind: str,
    written: Iterable[tuple[str, str, str]],
    offered: Iterable[str],
    *,
    severity: Severity = "warning",
) -> Iterator[Diagnostic]:
    """Name each of the `written` keys, with the name in it and what follows, that is of nothing that is offered."""
    available = {name: name for name in sorted(offered)}
    for key, name, outcome in written:
        if name not in available:
            yield Diagnostic(
                subject=key,
                message=f"{loaded.place(key)}: no plugin offers the {kind} '{name}', so {outcome}. "
                f"{_instead(name, available)}",
                severity=severity,
            )


def _instead(written: str, available: Mapping[str, str]) -> str:
    names = available.values()
    return f"{did_you_mean(written, names)}Available: {', '.join(names) or '(none)'}."
