"""The agents of the formats that are chosen: of the user's folders, then of the project's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.agent_files import SUITE
from ohm_subagents.agent_files.config_file import configured_agents
from ohm_subagents.agent_files.dialects import DIALECTS
from ohm_subagents.agent_files.reader import AgentFile, left_out, parse_agent_file
from ohm_subagents.agent_files.skills import with_skills
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.files import Fault, TimedCache, is_one_place, quoted_value, read_folder, tightened, trust_everything
from ohm_subagents.suite import Diagnostic, Err, ErrorCode, OhmError, Ok, ProfileSource, parse_model_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents.agent_files.dialects import Dialect
    from ohm_subagents.files import Covers
    from ohm_subagents.suite import Clock, ModelPattern, Place, Profile, Result

MAX_FOLDERS: Final = 100
"""The most folders that are looked into below one folder of agents."""
_UNREAD: Final = "readme.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRoster:
    """The profiles in force, and what of their files does not hold."""

    profiles: tuple[Profile, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def load_agents(config: Mapping[str, JsonValue], place: Place) -> AgentRoster:
    """Read the agents of the formats that `agentFiles` names; `config` is `subagents` of ohm.json.

    Of two files with one id, the one of the format that comes first counts, and a project's before the user's. One of a
    project has no more rights than the one it replaces; without trust, none but those of a reader.
    """
    chosen, unknown = _chosen(config.get("agentFiles"))
    diagnostics = [*unknown]
    aliases = model_aliases(config.get("modelAliases"))
    by_id: dict[str, Profile] = {}
    for is_local in (False, True):
        seen: dict[str, Profile] = {}
        for path, file, is_trusted in _agents(chosen, aliases, place, is_local=is_local):
            profile = file.profile
            diagnostics += file.diagnostics
            if profile is None:
                continue
            if profile.id in seen:
                diagnostics.append(_replaced(profile, seen[profile.id], path))
                continue
            if is_local:
                profile, lost = tightened(profile, by_id.get(profile.id), is_trusted=is_trusted)
                diagnostics += lost
            seen[profile.id] = profile
        by_id |= seen
    return AgentRoster(profiles=tuple(by_id.values()), diagnostics=tuple(diagnostics))


def profile_source(config: Mapping[str, JsonValue], place: Place, clock: Clock) -> ProfileSource:
    """Return the source of these profiles for the engine, read again after five seconds."""
    roster = TimedCache(lambda: load_agents(config, place), clock)

    def find(profile_id: str) -> Result[Profile, OhmError]:
        found = next((one for one in roster().profiles if one.id == profile_id), None)
        if found is not None:
            return Ok(found)
        message = f"No agent file of this name: '{profile_id}'."
        return Err(OhmError(code=ErrorCode.UNKNOWN_SUBAGENT_TYPE, message=message))

    return ProfileSource(
        suite=SUITE,
        used_by="`task`",
        names=tuple,  # the catalogue has them all
        find=find,
        complete=Ok,
        diagnostics=lambda: roster().diagnostics,
    )


def _chosen(setting: JsonValue) -> tuple[tuple[Dialect, ...], tuple[Diagnostic, ...]]:
    """Return the formats that the setting names, and a diagnostic for each name that is none."""
    if not isinstance(setting, list):
        return (tuple(DIALECTS.values()) if setting is True else ()), ()
    names = [str(name).strip().lower() for name in setting]
    unknown = (
        f"'subagents.agentFiles' names {quoted_value(name)}, which is no format. "
        f"{did_you_mean(name, DIALECTS)}Available: {', '.join(DIALECTS)}."
        for name in dict.fromkeys(names)
        if name not in DIALECTS
    )
    chosen = tuple(one for name, one in DIALECTS.items() if name in names)
    return chosen, tuple(Diagnostic(subject="subagents.agentFiles", message=one) for one in unknown)


def model_aliases(setting: JsonValue) -> Mapping[str, ModelPattern]:
    """Return the models of `modelAliases` by the folded name."""
    written = setting if isinstance(setting, dict) else {}
    parsed = ((alias.strip().casefold(), parse_model_pattern(str(model))) for alias, model in written.items())
    return {alias: model.ok_value for alias, model in parsed if isinstance(model, Ok)}


def _agents(
    dialects: Iterable[Dialect], aliases: Mapping[str, ModelPattern], place: Place, *, is_local: bool
) -> Iterator[tuple[Path, AgentFile, bool]]:
    """Yield the agents of the formats; of the user alone, if a project's folder or file is the same."""
    for dialect in dialects:
        for folder in _places(dialect.project, dialect.user, place, is_local=is_local):
            for below in folders_below(folder):
                yield from agents_in(below, dialect, aliases, place, is_local=is_local)
        for path in _places(dialect.project_files, dialect.user_files, place, is_local=is_local):
            yield from configured_agents(path, dialect, aliases, place, is_local=is_local)


def _places(project: Iterable[str], user: Iterable[str], place: Place, *, is_local: bool) -> Iterator[Path]:
    users = [place.home / one for one in user]
    for path in [place.cwd / one for one in project] if is_local else users:
        if not is_local or not any(is_one_place(path, one) for one in users):
            yield path


def folders_below(folder: Path) -> Iterator[Path]:
    """Yield a folder and those below it, none of them through a link."""
    for path, names, _ in islice(os.walk(folder), MAX_FOLDERS):
        names.sort()
        yield Path(path)


def agents_in(
    folder: Path, dialect: Dialect, aliases: Mapping[str, ModelPattern], place: Place, *, is_local: bool
) -> Iterator[tuple[Path, AgentFile, bool]]:
    """Yield the files of a folder as they are read, and True for one that the user trusts."""
    trusts: Covers = place.trusts if is_local else trust_everything
    for path, text in read_folder(folder, (dialect.suffix,)):
        stem = path.stem.removesuffix(".agent").lower()
        if path.name.lower() == _UNREAD:
            continue
        if isinstance(text, Err):
            yield path, left_out(str(path), stem, Fault(line=0, fact=f"cannot be read ({text.err_value})")), False
            continue
        file = parse_agent_file(text.ok_value, dialect, source=str(path), stem=stem, aliases=aliases)
        is_trusted = trusts(path, text.ok_value)
        yield path, with_skills(file, place, is_trusted=is_trusted), is_trusted


def _replaced(profile: Profile, first: Profile, path: Path) -> Diagnostic:
    message = f"The agent '{profile.id}' is left out: {first.source} has its name. Rename one of them."
    return Diagnostic(subject=profile.id, message=message, severity="info", source=str(path))
