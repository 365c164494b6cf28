"""Write agents of other programs as profile files of ours."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ohm_subagents.agent_files.config_file import configured_agents
from ohm_subagents.agent_files.dialects import DIALECTS
from ohm_subagents.agent_files.roster import agents_in, folders_below
from ohm_subagents.commands import BAD_USAGE, SUCCESS, TASK_FAILED, complain, print_text, report
from ohm_subagents.config import config_dir
from ohm_subagents.contract.call_rules import entry_of
from ohm_subagents.files import dump_yaml
from ohm_subagents.suite import has_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents import Ohm
    from ohm_subagents.agent_files.dialects import Dialect
    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.suite import Profile, ToolPolicy


def convert(source: Path, ohm: Ohm, loaded: LoadedConfig) -> int:
    """Write each agent below `source`, a directory of another program, as a profile; return the exit code."""
    place = ohm.inspect().place
    whole = place.cwd / source
    if not os.path.exists(whole):
        complain(f"'{source}' does not exist.")
        return BAD_USAGE
    folders, files = tuple(_folders(whole)), tuple(_files(whole))
    if not folders and not files:
        known = [*DIALECTS.values()]
        names = dict.fromkeys(str(PurePath(folder).parent) for one in known for folder in one.project)
        names |= dict.fromkeys(PurePath(path).name for one in known for path in one.project_files)
        complain(f"'{source}' is nothing of a known program. Expected one of {', '.join(names)}.")
        return BAD_USAGE
    target = place.cwd / ".pi" / "subagents" if whole.is_relative_to(place.cwd) else config_dir(place.env) / "subagents"
    aliases = loaded.config.subagents.model_aliases
    folded = {alias.strip().casefold(): model for alias, model in aliases.items()}
    found = [
        file
        for dialect, folder in folders
        for below in folders_below(folder)
        for _, file, _ in agents_in(below, dialect, folded, place, is_local=False)
    ]
    found += [
        file
        for dialect, path in files
        for _, file, _ in configured_agents(path, dialect, folded, place, is_local=False)
    ]
    if not found:
        print_text(f"No agents in {', '.join(str(path) for _, path in (*folders, *files))}.")
    has_failed, told = False, frozenset(map(str, ohm.diagnostics))
    for file in found:
        report(one for one in file.diagnostics if str(one) not in told)
        if file.profile is not None:
            has_failed |= not _written(file.profile, target / f"{file.profile.id}.md")
    return TASK_FAILED if has_failed else SUCCESS


def _folders(source: Path) -> Iterator[tuple[Dialect, Path]]:
    """Yield the folders of agents in the directory of a program, which is known by its name."""
    for dialect in DIALECTS.values():
        for folder in dict.fromkeys(map(PurePath, (*dialect.project, *dialect.user))):
            if folder.parent.name == source.name:
                yield dialect, source / folder.name


def _files(source: Path) -> Iterator[tuple[Dialect, Path]]:
    """Yield the files with agents in the directory of a program, or the one that is named."""
    for dialect in DIALECTS.values():
        folders = {PurePath(folder).parent.name for folder in (*dialect.project, *dialect.user)}
        for name in dict.fromkeys(PurePath(file).name for file in dialect.project_files):
            if source.name == name:
                yield dialect, source
            elif source.name in folders and os.path.isfile(source / name):
                yield dialect, source / name


def _written(profile: Profile, path: Path) -> bool:
    """Write the file of a profile, unless there is one; return True if it was written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(profile_text(profile))
    except FileExistsError:
        complain(f"The file '{path}' exists. Remove it to import '{profile.id}' again.")
        return False
    except OSError as error:
        complain(f"The profile cannot be written to '{path}': {error.strerror}.")
        return False
    print_text(f"Wrote the profile '{profile.id}' to {path}.")
    return True


def _lists(policy: ToolPolicy) -> dict[str, tuple[str, ...] | None]:
    """Return the lists of tools of a profile's file, with the rules for calls among them."""
    rules = policy.call_rules
    listed = [one for one in rules if one.allow is not None and has_tool(policy.allowed, one.tool)]
    ruled = {one.tool for one in listed}
    allowed = None if policy.allowed is None else tuple(name for name in policy.allowed if name not in ruled)
    only = listed if len(listed) == 1 else ()  # one list cannot say what two of them have in common
    calls = (entry_of(one.tool, pattern) for one in only for pattern in one.allow or ())
    denied = (entry_of(one.tool, pattern) for one in rules for pattern in one.deny)
    return {"allow": None if allowed is None else (*allowed, *calls), "deny": (*policy.denied, *denied)}


def profile_text(profile: Profile) -> str:
    """Return the text of a profile's file."""
    tools = _lists(profile.tools)
    cap_ms = profile.limits and profile.limits.cap_ms
    requests = profile.budget and profile.budget.requests
    keys: dict[str, object] = {
        "id": profile.id,
        "name": profile.name,
        "summary": profile.summary,
        "model": str(profile.model or profile.model_name) or None,
        "internal": profile.internal or None,
        "tools": {key: [*names] for key, names in tools.items() if names is not None and (names or key == "allow")}
        or None,
        "limits": {"capMs": cap_ms} if cap_ms else None,
        "budget": {"requests": requests} if requests else None,
    }
    return f"---\n{dump_yaml({key: value for key, value in keys.items() if value is not None})}---\n{profile.prompt}\n"
