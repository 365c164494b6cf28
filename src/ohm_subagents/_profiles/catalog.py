"""The catalogue of profiles: built-ins, plugins, agent profiles if asked for, the user's files, the project's files."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

from ohm_subagents._config.regular_file import is_one_place
from ohm_subagents._config.subagents import RESERVED_IDS
from ohm_subagents._config.tool_rules import fold_tool
from ohm_subagents._config.trust import trust_nothing
from ohm_subagents._profiles.documents import read_folder
from ohm_subagents._profiles.shipped import shipped_profiles
from ohm_subagents._profiles.trust import tightened
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from ohm_subagents._config.trust import Covers
    from ohm_subagents.contract.profile import Profile


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """Every profile there is."""

    profiles: tuple[Profile, ...]
    """In catalogue order."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The faults of their files."""
    brought: frozenset[str] = frozenset()
    """The folded ids of profiles of a project that are no direct tool without it."""

    @classmethod
    def of(cls, profiles: Iterable[Profile]) -> Self:
        """Make a catalogue of exactly these; of two with one id the first counts, and a reserved id is refused."""
        builder = _CatalogBuilder()
        builder.put(profiles)
        return cls(profiles=tuple(builder.profiles.values()), diagnostics=tuple(builder.diagnostics))

    def marked(self, is_primary: Callable[[str], bool | None]) -> Self:
        """Set by id which profiles are direct tools; None leaves one as it is."""
        said = ((profile, is_primary(profile.id)) for profile in self.profiles)
        return replace(self, profiles=tuple(_as_said(profile, primary=primary) for profile, primary in said))

    @property
    def new_tools(self) -> tuple[str, ...]:
        """The names of the direct tools that a project brings."""
        return tuple(profile.id for profile in self.profiles if profile.primary and fold_id(profile.id) in self.brought)

    def without_tools(self, taken: Iterable[str]) -> Self:
        """Drop those of `new_tools` whose name is `taken`: the profiles stay subagents."""
        names = frozenset(map(fold_tool, taken))
        void = [profile for profile in self.profiles if profile.id in self.new_tools and fold_tool(profile.id) in names]
        lost = tuple(_taken(profile) for profile in void)
        kept = (replace(profile, primary=False) if profile in void else profile for profile in self.profiles)
        return replace(self, profiles=tuple(kept), diagnostics=(*self.diagnostics, *lost))

    def find(self, text: str) -> Profile | None:
        """Return the profile of an id as a caller types it: trimmed and folded."""
        return self._by_id.get(fold_id(text))

    @cached_property
    def _by_id(self) -> Mapping[str, Profile]:
        return {fold_id(profile.id): profile for profile in reversed(self.profiles)}

    def available(self) -> tuple[str, ...]:
        """Return all ids, sorted."""
        return tuple(sorted(profile.id for profile in self.profiles))


def load_catalog(
    *,
    cwd: Path,
    config_dir: Path,
    plugin_profiles: Iterable[Profile],
    may_replace: Callable[[Profile], bool] = lambda _: True,
    trusts: Covers = trust_nothing,
    menu: Collection[str] = (),
) -> Catalog:
    """Read every source. A later one overrides by id, keeping its place; a broken file is a diagnostic.

    A project's profile that overrides another gets no tool that the other had not, and none but those that read unless
    the user `trusts` its file. Of the agent profiles of a tool suite with one id, the last one read counts; one that
    `may_replace` none is left out where its id is reserved, or that of a profile of a plugin or of ours. Other profiles
    of a suite replace none. `menu` has the names of models that a file may give.
    """
    builder = _CatalogBuilder()
    builder.put(shipped_profiles())
    offered = tuple(plugin_profiles)
    builder.put(profile for profile in offered if not profile.suite)
    taken = frozenset(builder.profiles) | RESERVED_IDS
    agents = (one for one in offered if one.suite and one.agent)
    for profile in (one for one in agents if may_replace(one) or fold_id(one.id) not in taken):
        builder.put([builder.tightened(profile) if profile.agent and profile.agent.is_local else profile])
    builder.add(one for one in offered if one.suite and not one.agent)
    user, project = config_dir / "subagents", cwd / ".pi" / "subagents"
    builder.put(profile for profile, _ in _read(user, builder.diagnostics, trust_nothing, menu))
    brought: frozenset[str] = frozenset()
    if not is_one_place(project, user):
        theirs = tuple(_read(project, builder.diagnostics, trusts, menu))
        brought = frozenset(fold_id(one.id) for one, _ in theirs if not builder.is_tool(one))
        builder.put([builder.tightened(one, is_trusted=is_trusted) for one, is_trusted in theirs])
    return Catalog(profiles=tuple(builder.profiles.values()), diagnostics=tuple(builder.diagnostics), brought=brought)


def _as_said(profile: Profile, *, primary: bool | None) -> Profile:
    return profile if primary in (None, profile.primary) else replace(profile, primary=primary)


def _taken(profile: Profile) -> Diagnostic:
    message = (
        f"The profile '{profile.id}' of a project is no direct tool: a tool of a suite, of the host or of subagents "
        "has that name. Give it another id."
    )
    return Diagnostic(subject=profile.id, message=message, source=profile.source or None)


class _CatalogBuilder:
    """Collects the profiles of the sources by folded id, lowest first."""

    def __init__(self) -> None:
        self.profiles: dict[str, Profile] = {}
        self.diagnostics: list[Diagnostic] = []

    def put(self, source: Iterable[Profile]) -> None:
        """Add one source; within it the first of two equal ids counts."""
        seen: dict[str, Profile] = {}
        for profile in source:
            key = fold_id(profile.id)
            if key in RESERVED_IDS or not key:
                self._refuse(profile, f"the id {profile.id!r} is reserved: it is a key of 'subagents' in ohm.json")
            elif key in seen:
                first = seen[key].source or "another profile"
                self._refuse(profile, f"the id {profile.id!r} is taken by {first}")
            else:
                seen[key] = profile
        self.profiles |= seen

    def add(self, source: Iterable[Profile]) -> None:
        """Add one source whose profiles replace none; name those that are left out."""
        for profile in source:
            former = self.profiles.get(fold_id(profile.id))
            if former is None:
                self.put([profile])
            else:
                message = f"The profile is left out: its id '{profile.id}' is taken by {former.source or 'a plugin'}."
                self.diagnostics.append(Diagnostic(subject=profile.id, message=message, source=profile.source or None))

    def is_tool(self, profile: Profile) -> bool:
        """Return True if there is a direct tool of this name already."""
        former = self.profiles.get(fold_id(profile.id))
        return former is not None and former.primary

    def tightened(self, profile: Profile, *, is_trusted: bool = True) -> Profile:
        """Return a project's profile with no more rights than the one it overrides; name what it does not get."""
        both, lost = tightened(profile, self.profiles.get(fold_id(profile.id)), is_trusted=is_trusted)
        self.diagnostics += lost
        return both

    def _refuse(self, profile: Profile, why: str) -> None:
        self.diagnostics.append(
            Diagnostic(
                subject=profile.id,
                message=f"A profile is left out because {why}. Give it another id.",
                severity="error",
                source=profile.source or None,
            )
        )


def _read(
    folder: Path, diagnostics: list[Diagnostic], trusts: Covers, menu: Collection[str]
) -> Iterable[tuple[Profile, bool]]:
    """Yield the profiles of a folder's Markdown files by file name, with True for one of a trusted file."""
    for path, text in read_folder(folder):
        if isinstance(text, Err):
            message = f"Cannot read profiles from '{path}': {text.err_value}."
            diagnostics.append(Diagnostic(subject=path.stem, message=message, severity="error"))
            continue
        from ohm_subagents._profiles.markdown import parse_profile  # noqa: PLC0415  most have no file

        parsed = parse_profile(text.ok_value, source=str(path), stem=path.stem, menu=menu)
        if isinstance(parsed, Err):
            diagnostics.append(Diagnostic(subject=path.stem, message=str(parsed.err_value), severity="error"))
            continue
        diagnostics += parsed.ok_value.diagnostics
        yield parsed.ok_value.profile, trusts(path, text.ok_value)
