"""The agents: five that ship, `agents/*.md` of the user, and those of the nearest project folder."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from ohm_subagents.files import (
    is_one_place,
    os_problem,
    overriding,
    quoted_value,
    read_folder,
    split_front_matter,
    trust_everything,
)
from ohm_subagents.suite import AgentOptions, Diagnostic, Err, Profile, ToolPolicy, parse_model_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ohm_subagents.files import Covers
    from ohm_subagents.suite import Place

BUILTIN: Final = ("explorer", "researcher", "reviewer", "implementer", "tester")
"""In the order in which a caller reads them."""
FOLDER: Final = "agents"
PROJECT_FOLDERS: Final = (".pi/agents", ".agents")
SUFFIXES: Final = (".md", ".markdown")
_LINE: Final = re.compile(r"([\w-]+)[ \t]*:(.*)", re.ASCII)
_QUOTED: Final = re.compile(r"""(["'])(.*)\1""")
_BELOW: Final = re.compile(r"\ntools[ \t]*:[ \t]*\n((?:(?:[ \t]+|-)[^\n]*\n)+)")
_LIST: Final = re.compile(r"\[([^\[\]{}]*)\]")
_NAME: Final = re.compile(r"[\w.:/@*-]+")
_READONLY: Final = frozenset({"true", "1"})
_WRITING: Final = frozenset({"", "false", "0", "no", "off"})


def parse_agent(text: str, *, source: str, is_local: bool) -> Profile | None:
    """Read a file: lines `key: value` between the first fences, and the prompt below. Return None without a name.

    Keys other than `name`, `description`, `readonly`, `tools` and `model` are ignored.
    """
    parts = split_front_matter(text)
    if parts is None:
        return None
    matter, body = parts
    values = _values(matter)
    name, description = values.get("name", ""), values.get("description", "")
    if not name:
        return None
    model = parse_model_pattern(values.get("model", ""))
    return Profile(
        id=name,
        name=name,
        summary=description,
        prompt=body or description,
        model=None if isinstance(model, Err) else model.ok_value,
        tools=ToolPolicy(allowed=_names(values.get("tools", ""))),
        agent=AgentOptions(
            model=values.get("model") or None,
            is_local=is_local,
            is_readonly=values.get("readonly") in _READONLY,
            has_task_argument=True,
        ),
        source=source,
    )


def _values(matter: str) -> dict[str, str]:
    """Read the keys; an indented line is part of a value, not a key."""
    lines = (_LINE.fullmatch(line) for line in matter.split("\n"))
    found = ((line[1], line[2].strip()) for line in lines if line is not None)
    return {key: inner[2] if (inner := _QUOTED.fullmatch(value)) else value for key, value in found}


def _names(listed: str) -> tuple[str, ...] | None:
    """Split a list in brackets, or with commas between, into names, each once; return None for an empty text.

    A list that cannot be read gives no name, since an author who lists tools wants no others.
    """
    bracketed = _LIST.fullmatch(listed)
    parts = (bracketed[1] if bracketed else listed).split(",")
    names = [inner[2] if (inner := _QUOTED.fullmatch(part.strip())) else part.strip() for part in parts]
    named = tuple(dict.fromkeys(filter(None, names)))
    if not all(map(_NAME.fullmatch, named)):
        return ()
    return named if bracketed else named or None


def _careful(profile: Profile, text: str) -> Profile:
    """Give the agent less where its file asks for less in unknown words; `notes` name what is not read.

    As in the other files of agents, each tool may have a line of its own.
    """
    matter, _ = split_front_matter(text) or ("", "")
    values = _values(matter)
    notes: list[str] = []
    readonly, listed = values.get("readonly", ""), values.get("tools", "")
    is_readonly = readonly.lower() not in _WRITING
    if is_readonly and readonly not in _READONLY:
        notes.append(f"'readonly' is {quoted_value(readonly)}, but has to be true or false: the agent only reads.")
    allowed = profile.tools.allowed
    below = _BELOW.search(f"\n{matter}\n")
    if below is not None and not listed:
        listed = f"[{','.join(line.strip().removeprefix('-') for line in below[1].splitlines())}]"
        allowed = _names(listed)
    if allowed == () and listed.replace(" ", "") != "[]":
        notes.append(f"'tools' is {quoted_value(listed)}, but has to be a list of names: the agent gets no tool.")
    options = profile.agent or AgentOptions()
    agent = replace(options, is_readonly=options.is_readonly or is_readonly)
    return replace(profile, agent=agent, tools=ToolPolicy(allowed=allowed), notes=(*profile.notes, *notes))


@cache
def builtin_agents() -> tuple[Profile, ...]:
    """Return the agents that ship."""
    folder = files("ohm_subagents.suites.single").joinpath("builtin")
    found: list[Profile] = []
    for name in BUILTIN:
        text = folder.joinpath(f"{name}.md").read_text(encoding="utf-8")
        profile = parse_agent(text, source=f"builtin/{name}.md", is_local=False)
        if profile is None:
            raise AssertionError(name)
        found.append(profile)
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """Every agent by name, in the order in which a caller reads them, and the faults of their files."""

    profiles: Mapping[str, Profile]
    diagnostics: tuple[Diagnostic, ...] = ()


def load_agents(place: Place) -> Agents:
    """Read the agents: those that ship, then the user's, then the project's; a later one replaces its namesake.

    A project's agent, unless the user trusts its file, has at most the rights of the one it replaces and of a reader.
    """
    found = list(builtin_agents())
    diagnostics: list[Diagnostic] = []
    user, project = place.agent_dir / FOLDER, _project_folder(place.cwd, diagnostics)
    found += (profile for profile, _ in _read(user, diagnostics, trust_everything, is_local=False))
    if project is not None and not is_one_place(project, user):
        formers = {profile.name: profile for profile in found}
        for held, lost in overriding(_read(project, diagnostics, place.trusts, is_local=True), formers):
            found.append(held)
            diagnostics += lost
    return Agents(profiles={profile.name: profile for profile in found}, diagnostics=tuple(diagnostics))


def _project_folder(cwd: Path, diagnostics: list[Diagnostic]) -> Path | None:
    """Find the nearest folder of agents, from the working directory upward; an unreadable one is a diagnostic."""
    for place in (above / name for above in (cwd, *cwd.parents) for name in PROJECT_FOLDERS):
        try:
            is_folder = stat.S_ISDIR(place.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            diagnostics.append(_unread(place, os_problem(error), folder=place))
            continue
        if is_folder:
            return place
    return None


def _read(
    folder: Path, diagnostics: list[Diagnostic], trusts: Covers, *, is_local: bool
) -> Iterator[tuple[Profile, bool]]:
    for path, text in read_folder(folder, SUFFIXES):
        if isinstance(text, Err):
            diagnostics.append(_unread(path, text.err_value, folder=folder))
            continue
        profile = parse_agent(text.ok_value, source=str(path), is_local=is_local)
        if profile is None:
            diagnostics.append(_left_out(path, "has no line 'name: …' between two lines '---' at its beginning"))
        else:
            careful = _careful(profile, text.ok_value)
            diagnostics += (Diagnostic(subject=profile.name, message=one, source=str(path)) for one in careful.notes)
            yield careful, trusts(path, text.ok_value)


def _unread(path: Path, why: str, *, folder: Path) -> Diagnostic:
    if path != folder:
        return _left_out(path, f"cannot be read ({why})")
    message = f"The agents of the folder '{folder}' are left out: it cannot be read ({why})."
    return Diagnostic(subject=path.name, message=message, severity="error", source=str(path))


def _left_out(path: Path, fact: str) -> Diagnostic:
    message = f"The agent is left out: its file {fact}."
    return Diagnostic(subject=path.stem, message=message, severity="error", source=str(path))
