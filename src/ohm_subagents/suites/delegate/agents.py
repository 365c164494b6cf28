"""Agent profiles of the user's agent directory and of the project: `agent-profiles/*.md`."""

from __future__ import annotations

import os.path
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.files import (
    Document,
    Fault,
    Location,
    TimedCache,
    dump_yaml,
    is_one_place,
    keep_valid,
    overriding,
    quoted_value,
    read_document,
    read_folder,
    trust_everything,
)
from ohm_subagents.suite import AgentOptions, Diagnostic, Err, ErrorCode, OhmError, Ok, Profile, Result, ToolPolicy
from ohm_subagents.suites.delegate import FOLDER, SKILLS, SUITE
from ohm_subagents.suites.delegate.front_matter import NAME, AgentFrontMatter
from ohm_subagents.suites.delegate.profile_summary import profile_summary
from ohm_subagents.suites.delegate.rules import refusal, without_excluded
from ohm_subagents.suites.delegate.skills import discover, equipped, left_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.files import Covers, KeyPath
    from ohm_subagents.suite import Clock, Place

_NO_TOOL: Final = "the profile gets no tool"
_EXCLUDED: Final = "excludeTools."
_LESS: Final = {
    "tools": _NO_TOOL,
    "noTools": _NO_TOOL,
    "excludeTools": _NO_TOOL,
    "noExtensions": "the profile gets no extension",
    "noSkills": "the profile gets no skill",
    "noContextFiles": "the profile gets no context file",
}
"""Keys that ask for less, and what becomes of the profile where one of them cannot be read."""
DEFAULT_AGENT: Final = Profile(id=SUITE, name="Sub-agent", summary="", prompt="", agent=AgentOptions(), suite=SUITE)
"""The profile of a task that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """The profile of one file, if it is one, and what in it was not honoured.

    `unread` are keys that ask for less in a way that cannot be read.
    """

    profile: Profile | None
    diagnostics: tuple[Diagnostic, ...]
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRoster:
    """The profiles by name, sorted, and what was wrong with the files.

    `read` is every profile in the order in which it was read, those that a later one replaces included.
    """

    profiles: Mapping[str, Profile]
    diagnostics: tuple[Diagnostic, ...] = ()
    read: tuple[Profile, ...] = ()


def parse_agent_profile(text: str, *, source: str, is_local: bool) -> AgentFile:
    """Read one file. `source` is its name in diagnostics; a file that `is_local` is a project's."""
    read = read_document(text)
    if isinstance(read, Err):
        return _skipped(source, read.err_value)
    fenced = read.ok_value
    fault = _misnamed(fenced)
    if fault is not None:
        return _skipped(source, fault)

    def place(path: KeyPath) -> Location:
        location = [int(part) if part.isdigit() else part for part in path]
        return Location(source=source, key=".".join(path), line=fenced.line(location))

    values = dict(fenced.values)
    found: list[Diagnostic] = []
    if is_local and values.pop("apiKey", None) is not None:
        message = "'apiKey' is refused in a project's file, where others can read it; give it in the user's own."
        found.append(place(("apiKey",)).diagnostic(message))
    kept, ignored = keep_valid(AgentFrontMatter, cast("dict[str, JsonValue]", values), place, complete=True)
    matter = AgentFrontMatter.model_validate(kept, by_alias=True, by_name=False)
    if matter.tools == () and not matter.no_tools:
        message = f"'tools' names none: {_NO_TOOL}. To say nothing of its tools, leave the key out."
        found.append(place(("tools",)).diagnostic(message))
    profile = matter.profile(prompt=fenced.body, source=source, is_local=is_local)
    in_order = sorted((*found, *ignored), key=lambda one: one.line or 0)
    unread = frozenset(one.subject for one in ignored if one.subject in _LESS or one.subject.startswith(_EXCLUDED))
    return AgentFile(profile=profile, diagnostics=tuple(in_order), unread=unread)


def _careful(file: AgentFile) -> Profile | None:
    """Return the profile with less where its file asks for less in an unreadable way; its `notes` say so."""
    profile = file.profile
    if profile is None or profile.agent is None or not file.unread:
        return profile
    agent = profile.agent
    notes = [f"'{key}' cannot be read: {_LESS.get(key, _NO_TOOL)}." for key in sorted(file.unread)]
    has_tools = _NO_TOOL not in {_LESS.get(key, _NO_TOOL) for key in file.unread}
    agent = replace(
        agent,
        no_extensions=agent.no_extensions or "noExtensions" in file.unread,
        no_skills=agent.no_skills or "noSkills" in file.unread,
        no_context_files=agent.no_context_files or "noContextFiles" in file.unread,
    )
    tools = profile.tools if has_tools else ToolPolicy(allowed=())
    less = replace(profile, agent=agent, tools=tools, notes=tuple(notes))
    return replace(less, summary=profile_summary(less))


def agent_profile_text(values: Mapping[str, JsonValue], prompt: str) -> Result[str, OhmError]:
    """Write the file of a profile with these keys. Returns `profile_invalid` for the first value that is wrong."""
    _, refused = keep_valid(AgentFrontMatter, values, _nowhere, complete=False, fate="is refused")
    if refused:
        return Err(OhmError(code=ErrorCode.PROFILE_INVALID, message=refused[0].message))
    body = prompt.strip()
    return Ok(f"---\n{dump_yaml(values)}---\n" + (f"\n{body}\n" if body else ""))


def _misnamed(fenced: Document) -> Fault | None:
    """A file without a usable name is no profile at all."""
    if "name" not in fenced.values:
        return Fault(line=1, fact="lacks 'name'", advice=f"Give it one of {NAME}.")
    name = fenced.values["name"]
    kept, _ = keep_valid(AgentFrontMatter, cast("dict[str, JsonValue]", {"name": name}), _nowhere, complete=False)
    if kept:
        return None
    return Fault(line=fenced.line(("name",)), fact=f"has the name {quoted_value(name)}", advice=f"Allowed: {NAME}.")


def _nowhere(path: KeyPath) -> Location:
    return Location(source="", key=".".join(path))


def _skipped(source: str, fault: Fault) -> AgentFile:
    message = f"The agent profile is left out: it {fault.fact}. {fault.advice}".rstrip()
    found = Diagnostic(subject=FOLDER, message=message, severity="error", source=source, line=fault.line or None)
    return AgentFile(profile=None, diagnostics=(found,))


def load_agents(place: Place) -> AgentRoster:
    """Read the user's files, then the project's: of two with one name, the later replaces the earlier.

    Whole, if the user trusts the file, else with no more rights than that one and a reader have.
    """
    folders = [(place.agent_dir / FOLDER, False)]
    if not is_one_place(place.cwd / ".pi", place.agent_dir):
        folders.append((place.cwd / ".pi" / FOLDER, True))
    found: list[Profile] = []
    diagnostics: list[Diagnostic] = []
    by_name: dict[str, Profile] = {}
    for folder, is_local in folders:
        seen: dict[str, Profile] = {}
        files = _files(folder, place.trusts if is_local else trust_everything, is_local=is_local)
        for held, lost in overriding(_sound(files, diagnostics), by_name):
            diagnostics += lost
            seen[held.name] = replace(held, summary=profile_summary(held))
            found.append(seen[held.name])
        by_name |= seen
    return AgentRoster(
        profiles=MappingProxyType(dict(sorted(by_name.items()))), diagnostics=tuple(diagnostics), read=tuple(found)
    )


def _sound(files: Iterable[tuple[AgentFile, bool]], diagnostics: list[Diagnostic]) -> Iterator[tuple[Profile, bool]]:
    """Yield the profiles of a folder, and whether their files are trusted; say what is wrong with each file."""
    seen: dict[str, Profile] = {}
    for file, is_trusted in files:
        diagnostics += file.diagnostics
        profile = _careful(file)
        if profile is not None:
            diagnostics += (_unread(profile, note) for note in profile.notes)
            former = seen.get(profile.name)
            if former is not None:
                diagnostics.append(_replaced(former, profile))
            seen[profile.name] = profile
            yield profile, is_trusted


def _files(folder: Path, trusts: Covers, *, is_local: bool) -> Iterator[tuple[AgentFile, bool]]:
    for path, text in read_folder(folder):
        if isinstance(text, Err):
            yield _skipped(str(path), Fault(line=0, fact=f"cannot be read ({text.err_value})")), False
        else:
            file = parse_agent_profile(text.ok_value, source=str(path), is_local=is_local)
            yield file, trusts(path, text.ok_value)


def _unread(profile: Profile, note: str) -> Diagnostic:
    return Diagnostic(subject=profile.name, message=note, source=profile.source)


def _replaced(former: Profile, profile: Profile) -> Diagnostic:
    message = f"The agent profile '{profile.name}' is also in {former.source}, which it replaces. Rename one of them."
    return Diagnostic(subject=profile.name, message=message, source=profile.source)


def chosen_agents(chosen: JsonValue, profiles: Iterable[Profile]) -> tuple[Profile, ...]:
    """Return those that the setting `agentProfiles` makes subagents: those of a list of names, or all."""
    return tuple(one for one in profiles if not isinstance(chosen, list) or one.name in chosen)


class AgentRepository:
    """The agent profiles and skills that are in force at a place, read again after five seconds."""

    def __init__(self, place: Place, clock: Clock) -> None:
        cwd, agent_dir = place.cwd, place.agent_dir
        self.folders = agent_dir / FOLDER, cwd / ".pi" / FOLDER
        self._place = place
        self._roster = TimedCache(lambda: load_agents(place), clock)
        self._skills = TimedCache(lambda: discover(agent_dir=agent_dir, cwd=cwd, trusts=place.trusts), clock)

    def roster(self) -> AgentRoster:
        """Return all of them, at most five seconds old."""
        return self._roster()

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Return what is wrong with the files of agents, and the skills of a project that are left out."""
        yield from self.roster().diagnostics
        if os.path.isdir(self._place.cwd / ".pi" / SKILLS):  # most projects have none, and need not be looked through
            found = left_out(self._skills())
            if found is not None:
                yield found

    def find(self, name: str, subagents: Iterable[Profile] = ()) -> Result[Profile, OhmError]:
        """Return the profile of a name, the default agent for an empty one; or `unknown_subagent_type`.

        `subagents` are the profiles that `task` runs: the error says if the name is one of theirs.
        """
        if not name:
            return Ok(DEFAULT_AGENT)
        profiles = self.roster().profiles
        return Ok(profiles[name]) if name in profiles else Err(unknown_agent(name, tuple(profiles), subagents))

    def complete(self, profile: Profile, parent_tools: Iterable[str]) -> Result[Profile, OhmError]:
        """Return a profile with its skills, and with the parent's tools that it does not exclude.

        Skills are looked for only if it names any. Returns the first error of those that its file can cause.
        """
        refused = refusal(profile)
        if refused is not None:
            return Err(refused)
        listed, agent = without_excluded(profile, parent_tools), profile.agent
        if agent is None or not (agent.suggested_skills or agent.load_skills or agent.skill_paths):
            return Ok(listed)
        return equipped(listed, self._skills(), cwd=self._place.cwd, agent_dir=self._place.agent_dir)

    def add(self, name: str, text: str, *, is_local: bool) -> Path:
        """Write a new file, the project's or the user's; its path. Raises `OSError`, also where there is one."""
        path = self.folders[is_local] / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o666 if is_local else 0o600, exist_ok=False)  # the user may put a key into it
        path.write_text(text, encoding="utf-8")
        self.refresh()
        return path

    def refresh(self) -> None:
        """Forget what was read."""
        self._roster.drop()
        self._skills.drop()


def unknown_agent(typed: str, names: tuple[str, ...], subagents: Iterable[Profile]) -> OhmError:
    """Return the error of a name that no agent profile has; its advice is what else the name may mean."""
    if any(one.id == fold_id(typed) for one in subagents):
        hint = (
            f"'{typed}' is a subagent of task and ohm run, and no agent profile: see it by 'ohm subagent "
            f"{typed}', run it by 'ohm run {typed}', or write a profile of that name by 'ohm profile new {typed}'."
        )
    else:
        hint = did_you_mean(typed, names).strip()
    return OhmError(
        code=ErrorCode.UNKNOWN_SUBAGENT_TYPE,
        message=f'Unknown profile: "{typed}". Available profiles: {", ".join(names) or "(none)"}',
        advice=hint,
    )
