"""The suggested skills of an agent profile, as its model is told of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast
from xml.sax.saxutils import escape

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ohm_subagents._plugins.interfaces import RunRequest

_FENCED: Final = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$\n?(.*)", re.DOTALL | re.MULTILINE)
_MAX_BYTES: Final = 200_000
_INTRODUCTION: Final = (
    "There are skills for some kinds of work. When a task fits the description of one, follow it. Where a skill has a "
    "location, read that file first. Relative paths in a skill start at the directory of its file."
)


class _Yaml(Protocol):
    load: Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillList:
    """`text` is for the instructions, empty without skills; `diagnostics` name the files that cannot be used."""

    text: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


def skill_list(request: RunRequest, paths: Iterable[str]) -> SkillList:
    """Name, description and place of each skill; in place of the place its text, where no tool could read the file.

    The file tools end at the working directory, and the user's skills lie outside of it. Reads files: not for an event
    loop.
    """
    listed: list[str] = []
    lost: list[Diagnostic] = []
    for path in dict.fromkeys(paths):
        file = request.cwd / path
        match _text_of(file):
            case Ok(text):
                listed.append(_told(file, text, can_be_read=_can_be_read(request, file)))
            case Err(why):
                said = f'The skill file "{path}" cannot be used: {why}; the subagent works without it.'
                lost.append(Diagnostic(subject="suggestedSkills", message=said))
    whole = "\n".join((_INTRODUCTION, "", "<available_skills>", *listed, "</available_skills>")) if listed else ""
    return SkillList(text=whole, diagnostics=tuple(lost))


def _text_of(file: Path) -> Result[str, str]:
    """What is in the file, or why that is unknown."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_MAX_BYTES + 1)
        return Ok(content.decode("utf-8-sig")) if len(content) <= _MAX_BYTES else Err("it is larger than 200 kB")
    except UnicodeDecodeError:
        return Err("it is not UTF-8")
    except (OSError, ValueError) as error:
        return Err(getattr(error, "strerror", None) or f"{error}")


def _can_be_read(request: RunRequest, file: Path) -> bool:
    return "read" in request.tools and file.resolve().is_relative_to(request.cwd.resolve())


def _told(file: Path, text: str, *, can_be_read: bool) -> str:
    found = _FENCED.fullmatch(text.replace("\r\n", "\n"))
    matter, body = (found[1], found[2]) if found is not None else ("", text)
    known = _values(matter)
    name = known.get("name") or file.parent.name
    said = {"name": name, "description": known.get("description", "")}
    place = {"location": f"{file}"} if can_be_read else {"text": f"\n{body.strip()}\n"}
    return "\n".join(
        (
            "<skill>",
            *(f"<{tag}>{escape(value)}</{tag}>" for tag, value in said.items()),
            *(f"<{tag}>{value}</{tag}>" for tag, value in place.items()),
            "</skill>",
        )
    )


def _values(matter: str) -> dict[str, str]:
    """The texts among the keys; none of a front matter that is no YAML."""
    load = cast("_Yaml", YAML(typ="safe", pure=True)).load
    try:
        known = load(matter)
    except (YAMLError, ValueError, RecursionError):
        return {}
    keys = cast("dict[object, object]", known) if isinstance(known, dict) else {}
    return {f"{key}": value.strip() for key, value in keys.items() if isinstance(value, str)}
