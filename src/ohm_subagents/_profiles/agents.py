"""Agent profiles of the user's agent directory and of the project: `agent-profiles/*.md`."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents._config.accept import accepted
from ohm_subagents._config.layers import Place
from ohm_subagents._config.regular_file import is_one_place
from ohm_subagents._config.values import shown
from ohm_subagents._profiles.agent_matter import NAME, AgentMatter
from ohm_subagents._profiles.fenced import Fault, Fenced, read_fenced, read_folder
from ohm_subagents._profiles.fresh import Fresh
from ohm_subagents._profiles.skills import discover, equipped
from ohm_subagents._profiles.yaml_text import dump_yaml
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents.contract.ids import Clock

FOLDER: Final = "agent-profiles"
WISHLESS: Final = Profile(id="delegate", name="Sub-agent", summary="", prompt="", agent=AgentOptions())
"""Who does a task that names no agent profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """The profile of one file, if it is one, and what in it was not honoured."""

    profile: Profile | None
    diagnostics: tuple[Diagnostic, ...]


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
    read = read_fenced(text)
    if isinstance(read, Err):
        return _skipped(source, read.err_value)
    fenced = read.ok_value
    fault = _misnamed(fenced)
    if fault is not None:
        return _skipped(source, fault)

    def place(path: KeyPath) -> Place:
        location = [int(part) if part.isdigit() else part for part in path]
        return Place(source=source, key=".".join(path), line=fenced.line(location))

    values = dict(fenced.values)
    found: list[Diagnostic] = []
    if is_local and values.pop("apiKey", None) is not None:
        told = "'apiKey' is refused in a project's file, where others can read it; give it in the user's own."
        found.append(place(("apiKey",)).diagnostic(told))
    kept, ignored = accepted(AgentMatter, cast("dict[str, JsonValue]", values), place, complete=True)
    matter = AgentMatter.model_validate(kept, by_alias=True, by_name=False)
    if matter.tools == () and not matter.no_tools:
        told = "'tools' names none, which counts as not given. For no tools at all, write 'noTools: true'."
        found.append(place(("tools",)).diagnostic(told))
    profile = matter.profile(prompt=fenced.body, source=source, is_local=is_local)
    in_order = sorted((*found, *ignored), key=lambda one: one.line or 0)
    return AgentFile(profile=profile, diagnostics=tuple(in_order))


def agent_profile_text(values: Mapping[str, JsonValue], prompt: str) -> Result[str, OhmError]:
    """The file of a profile with these keys. Returns `profile_invalid` for the first value that is wrong."""
    _, refused = accepted(AgentMatter, values, _nowhere, complete=False, fate="is refused")
    if refused:
        return Err(OhmError(code=ErrorCode.PROFILE_INVALID, message=refused[0].message))
    body = prompt.strip()
    return Ok(f"---\n{dump_yaml(values)}---\n" + (f"\n{body}\n" if body else ""))


def _misnamed(fenced: Fenced) -> Fault | None:
    """A file without a usable name is no profile at all."""
    if "name" not in fenced.values:
        return Fault(line=1, fact="lacks 'name'", advice=f"Give it one of {NAME}.")
    name = fenced.values["name"]
    kept, _ = accepted(AgentMatter, cast("dict[str, JsonValue]", {"name": name}), _nowhere, complete=False)
    if kept:
        return None
    return Fault(line=fenced.line(("name",)), fact=f"has the name {shown(name)}", advice=f"Allowed: {NAME}.")


def _nowhere(path: KeyPath) -> Place:
    return Place(source="", key=".".join(path))


def _skipped(source: str, fault: Fault) -> AgentFile:
    message = f"The agent profile is left out: it {fault.fact}. {fault.advice}".rstrip()
    found = Diagnostic(subject=FOLDER, message=message, severity="error", source=source, line=fault.line or None)
    return AgentFile(profile=None, diagnostics=(found,))


def load_agents(*, cwd: Path, agent_dir: Path) -> AgentRoster:
    """Read the user's files, then the project's: of two with one name, the later replaces the earlier whole."""
    folders = [(agent_dir / FOLDER, False)]
    if not is_one_place(cwd / ".pi", agent_dir):
        folders.append((cwd / ".pi" / FOLDER, True))
    found: list[Profile] = []
    diagnostics: list[Diagnostic] = []
    for folder, is_local in folders:
        seen: dict[str, Profile] = {}
        for file in _files(folder, is_local=is_local):
            diagnostics += file.diagnostics
            if file.profile is not None:
                former = seen.get(file.profile.name)
                if former is not None:
                    diagnostics.append(_replaced(former, file.profile))
                seen[file.profile.name] = file.profile
                found.append(file.profile)
    by_name = {profile.name: profile for profile in found}
    return AgentRoster(
        profiles=MappingProxyType(dict(sorted(by_name.items()))), diagnostics=tuple(diagnostics), read=tuple(found)
    )


def _files(folder: Path, *, is_local: bool) -> Iterator[AgentFile]:
    for path, text in read_folder(folder):
        if isinstance(text, Err):
            yield _skipped(str(path), Fault(line=0, fact=f"cannot be read ({text.err_value})"))
        else:
            yield parse_agent_profile(text.ok_value, source=str(path), is_local=is_local)


def _replaced(former: Profile, profile: Profile) -> Diagnostic:
    message = f"The agent profile '{profile.name}' is also in {former.source}, which it replaces. Rename one of them."
    return Diagnostic(subject=profile.name, message=message, source=profile.source)


def chosen_agents(chosen: bool | tuple[str, ...], profiles: Iterable[Profile]) -> tuple[Profile, ...]:  # noqa: FBT001  the setting itself
    """Those that are to be subagents as well: all, none, or those of these names."""
    return tuple(one for one in profiles if chosen is True or (isinstance(chosen, tuple) and one.name in chosen))


class AgentShelf:
    """The agent profiles that are in force in `cwd`, read again when they were read five seconds ago."""

    def __init__(self, *, cwd: Path, agent_dir: Path, now: Clock) -> None:
        self.cwd = cwd
        self.agent_dir = agent_dir
        self.folders = agent_dir / FOLDER, cwd / ".pi" / FOLDER
        self._roster = Fresh(lambda: load_agents(cwd=cwd, agent_dir=agent_dir), now)
        self._skills = Fresh(lambda: discover(agent_dir=agent_dir, cwd=cwd), now)

    def roster(self) -> AgentRoster:
        """All of them, at most five seconds old."""
        return self._roster()

    def equipped(self, profile: Profile) -> Result[Profile, OhmError]:
        """The profile with its skills, which are looked for only if it names any.

        Returns `unknown_skills` for names that nobody has, `profile_argument_refused` for a file somewhere else.
        """
        agent = profile.agent
        if agent is None or not (agent.suggested_skills or agent.load_skills or agent.skill_paths):
            return Ok(profile)
        return equipped(profile, self._skills(), cwd=self.cwd, agent_dir=self.agent_dir)

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
