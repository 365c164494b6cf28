"""The suggested skills of an agent profile, as text for its model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from ohm_subagents.plugin import AgentOptions, Diagnostic, RunRequest, SkillText

if TYPE_CHECKING:
    from collections.abc import Iterator


_INTRODUCTION: Final = (
    "There are skills for some kinds of work. When a task fits the description of one, follow it. Where a skill has a "
    "location, read that file first. Relative paths in a skill start at the directory of its file."
)


def skill_list(request: RunRequest, agent: AgentOptions) -> str:
    """Name, description and place of each skill; in place of the place its text, where no tool could read the file.

    Empty without skills. The file tools end at the working directory, and the user's skills lie outside of it.
    """
    listed = [_told(one, can_be_read=_can_be_read(request, one)) for one in dict.fromkeys(agent.skills)]
    return "\n".join((_INTRODUCTION, "", "<available_skills>", *listed, "</available_skills>")) if listed else ""


def unread_skills(agent: AgentOptions) -> Iterator[Diagnostic]:
    """Warn of the files whose text was not given."""
    given = {one.path for one in agent.skills}
    for path in dict.fromkeys(agent.skill_paths):
        if path not in given:
            said = f'The skill file "{path}" is for pi and is not read here; the subagent works without it.'
            yield Diagnostic(subject="suggestedSkills", message=said)


def _can_be_read(request: RunRequest, skill: SkillText) -> bool:
    place = os.path.realpath(request.cwd / skill.path)
    return "read" in request.tools and Path(place).is_relative_to(os.path.realpath(request.cwd))


def _told(skill: SkillText, *, can_be_read: bool) -> str:
    place = f"<location>{skill.path}</location>" if can_be_read else f"<text>\n{skill.body.strip()}\n</text>"
    return "\n".join(
        (
            "<skill>",
            f"<name>{escape(skill.name)}</name>",
            f"<description>{escape(skill.description)}</description>",
            place,
            "</skill>",
        )
    )
