"""Skills of the agent directory and of the project, and what they become in a profile."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents.files import (
    MAX_FRONT_MATTER,
    TRUST_COMMAND,
    is_one_place,
    read_document,
    read_text,
    split_front_matter,
    trust_nothing,
)
from ohm_subagents.suite import Diagnostic, Err, ErrorCode, OhmError, Ok, Result, SkillText
from ohm_subagents.suites.delegate import SKILLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ohm_subagents.files import Covers
    from ohm_subagents.suite import Profile

SKILL_FILE: Final = "SKILL.md"
MAX_SKILLS: Final = 1000
_SHOWN: Final = 5
MAX_SKILLSS: Final = 4000
"""The most directories that are looked into below each place: a link may lead anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skills:
    """Skills by name, and those of a project that are left out because the user does not trust their files."""

    known: Mapping[str, SkillText]
    untrusted: frozenset[str] = frozenset()


def discover(*, agent_dir: Path, cwd: Path, trusts: Covers = trust_nothing) -> Skills:
    """Return every skill by name; of two with one name, the first stays: the user's before the project's.

    The text of a skill becomes part of prompts, so one of a project is known only if the user `trusts` its file.
    """
    found: dict[str, SkillText] = {}
    left_out: set[str] = set()
    user, project = (agent_dir / SKILLS).absolute(), (cwd / ".pi" / SKILLS).absolute()
    for folder in (user,) if is_one_place(user, project) else (user, project):
        for path, text in _texts(folder):
            skill = _skill(path, text)
            if skill is None:
                continue
            if folder == user or trusts(path, text):
                found.setdefault(skill.name, skill)
            else:
                left_out.add(skill.name)
    return Skills(known=MappingProxyType(found), untrusted=frozenset(left_out - found.keys()))


def left_out(skills: Skills) -> Diagnostic | None:
    """Report all skills that are left out because their project is not trusted."""
    names = [f"'{name}'" for name in sorted(skills.untrusted)]
    if not names:
        return None
    named = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    one = len(names) == 1
    return Diagnostic(
        subject=SKILLS,
        message=f"The skill{'' if one else 's'} {named} of a project that is not trusted {'is' if one else 'are'} left "
        "out.",
        advice=f"To allow {'it' if one else 'them'}, trust the project ('{TRUST_COMMAND}').",
    )


def _texts(folder: Path) -> Iterator[tuple[Path, str]]:
    left = MAX_FRONT_MATTER
    for path in islice(_files(folder), MAX_SKILLS):
        text = read_text(path)
        parts = split_front_matter(text.ok_value) if isinstance(text, Ok) else None
        left -= len(parts[0]) if parts else 0
        if left < 0:
            return
        if isinstance(text, Ok):
            yield path, text.ok_value


def _files(folder: Path) -> Iterator[Path]:
    """Markdown files directly inside, `SKILL.md` at any depth below; a directory that is met twice is read once."""
    seen: set[str] = set()
    left = [folder]
    while left and len(seen) < MAX_SKILLSS:
        here = left.pop()
        try:
            real = os.path.realpath(here)
            entries = sorted(here.iterdir())
        except OSError:  # gone, not a directory, not ours to read, or a loop
            continue
        if real in seen:
            continue
        seen.add(real)
        shown = [entry for entry in entries if not entry.name.startswith(".") and entry.name != "node_modules"]
        is_top = here is folder
        yield from (one for one in shown if one.name == SKILL_FILE or (is_top and one.suffix == ".md"))
        left += reversed([entry for entry in shown if os.path.isdir(entry)])


def _skill(path: Path, text: str) -> SkillText | None:
    read = read_document(text)
    if isinstance(read, Err):
        return None
    values = read.ok_value.values
    description, name = values.get("description"), values.get("name")
    if not isinstance(description, str) or not description.strip():
        return None
    own = name.strip() if isinstance(name, str) else ""
    return SkillText(
        name=own or path.parent.name, description=description.strip(), path=str(path), body=read.ok_value.body
    )


def equipped(profile: Profile, skills: Skills, *, cwd: Path, agent_dir: Path) -> Result[Profile, OhmError]:
    """The profile with its suggested skills and their files, and with the text of those to be loaded behind its prompt.

    Returns `unknown_skills` for names without a skill, `profile_argument_refused` for a file somewhere else.
    """
    agent = profile.agent
    if agent is None:
        return Ok(profile)
    known = skills.known
    unknown = [name for name in (*agent.suggested_skills, *agent.load_skills) if name not in known]
    if unknown:
        return Err(_unknown(unknown, skills))
    suggested = tuple(known[name] for name in agent.suggested_skills)
    paths = (*agent.skill_paths, *(one.path for one in suggested))
    outside = [path for path in paths if not _is_below(path, (cwd, agent_dir), cwd)]
    if outside:
        message = f"Refusing skill path outside allowed directories: {outside[0]}"
        return Err(OhmError(code=ErrorCode.PROFILE_ARGUMENT_REFUSED, message=message))
    loaded = (known[name] for name in agent.load_skills)
    blocks = (f'<loaded_skill name="{one.name}">\n{one.body}\n</loaded_skill>' for one in loaded if one.body)
    prompt = "\n\n".join(part for part in chain([agent.appended_prompt], blocks) if part)
    whole = replace(agent, skill_paths=paths, skills=(*agent.skills, *suggested), appended_prompt=prompt)
    return Ok(replace(profile, agent=whole))


def _unknown(names: Sequence[str], skills: Skills) -> OhmError:
    quoted = ", ".join(f'"{name}"' for name in dict.fromkeys(names))
    available = ", ".join(sorted(skills.known)) or "(none)"
    message = f"Unknown skills: {quoted}. Available skills: {available}"
    if skills.untrusted.isdisjoint(names):
        return OhmError(code=ErrorCode.UNKNOWN_SKILLS, message=message)
    advice = f"The project has it, but is not trusted: see '{TRUST_COMMAND}'."
    return OhmError(code=ErrorCode.UNKNOWN_SKILLS, message=message, advice=advice)


def _is_below(path: str, places: Iterable[Path], cwd: Path) -> bool:
    """Return True for a path written as one below a place. Links are not followed: skills are often linked."""
    whole = _plain(cwd / path)
    return any(whole.is_relative_to(_plain(place)) for place in places)


def _plain(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))
