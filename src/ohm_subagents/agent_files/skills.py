"""Skills that an agent file names: the text of each `SKILL.md` becomes part of the agent's prompt."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents.files import TRUST_COMMAND, quoted_value, read_text, split_front_matter
from ohm_subagents.suite import Diagnostic, Err

if TYPE_CHECKING:
    from ohm_subagents.agent_files.reader import AgentFile
    from ohm_subagents.suite import Place, Profile

SKILLS: Final = ".claude/skills"
"""The folder of skills, in the user's home directory and in a project; each has a folder of its own with `SKILL.md`."""
_NAME: Final = re.compile(r"[\w-]+")


def with_skills(file: AgentFile, place: Place, *, is_trusted: bool) -> AgentFile:
    """Return the file's profile with the texts of its skills; one that cannot be had is a diagnostic.

    The user's skill of a name counts before the project's, which has to be trusted. An untrusted file gets none.
    """
    profile = file.profile
    if profile is None:
        return file
    blocks: list[str] = []
    lost: list[Diagnostic] = []
    for name in dict.fromkeys(file.skills):
        text = _text(name, place)  # also to list its file among those that may be trusted
        if text is None or not is_trusted:
            lost.append(_lost(name, profile, is_trusted=is_trusted))
        else:
            blocks.append(f'<loaded_skill name="{name}">\n{text}\n</loaded_skill>')
    notes = (*profile.notes, *(one.message for one in lost))
    equipped = replace(profile, prompt="\n\n".join((profile.prompt, *blocks)), notes=notes)
    return replace(file, profile=equipped, diagnostics=(*file.diagnostics, *lost))


def _text(name: str, place: Place) -> str | None:
    if not _NAME.fullmatch(name):
        return None
    for folder in (place.home, place.cwd):
        path = folder / SKILLS / name / "SKILL.md"
        read = read_text(path)
        if isinstance(read, Err) or (folder == place.cwd != place.home and not place.trusts(path, read.ok_value)):
            continue
        parts = split_front_matter(read.ok_value)
        return read.ok_value.strip() if parts is None else parts[1]
    return None


def _lost(name: str, profile: Profile, *, is_trusted: bool) -> Diagnostic:
    places = f"'~/{SKILLS}', or in '{SKILLS}' of a project that is trusted ('{TRUST_COMMAND}')"
    why = f"there is none of this name in {places}" if is_trusted else f"the project is not trusted ('{TRUST_COMMAND}')"
    return Diagnostic(
        subject="skills", message=f"The skill {quoted_value(name)} is left out: {why}.", source=profile.source
    )
