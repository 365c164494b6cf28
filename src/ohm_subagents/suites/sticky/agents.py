"""The agents: `prompts/*.md`, those that ship, the project's, and those of folders that are configured."""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from ohm_subagents.files import (
    TimedCache,
    overriding,
    quoted_value,
    read_document,
    read_folder,
    split_front_matter,
    trust_everything,
)
from ohm_subagents.suite import AgentOptions, Diagnostic, Err, ErrorCode, OhmError, Ok, Profile, Result, ToolPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ohm_subagents.files import Covers
    from ohm_subagents.suite import Place, SuiteContext

FOLDER: Final = "prompts"
STICKY_CHILD_VARIABLE: Final = "PI_STICKY_SUBAGENT_CHILD"
"""Tells a process that it works for such an agent: it is `1` there."""
_WHITELIST: Final = ("approved_tools", "allowed_tools")
_BLACKLIST: Final = "denied_tools"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Prompt: TypeAlias = Result[Profile, OhmError]
"""An agent, or the error that answers a call of it: its file is rejected."""


def parse_prompt(text: str, *, source: str, stem: str, is_local: bool) -> tuple[str, Prompt] | None:
    """Return the name and the agent of a file; None for a file without front matter, which is no agent.

    A whitelist is `ToolPolicy.allowed`; a blacklist, or nothing, is `denied`. Returns `profile_invalid` for a file that
    has both, a name that is not safe in a path, or a value that is no list where one belongs.
    """
    if split_front_matter(text) is None:
        return None
    read = read_document(text)
    if isinstance(read, Err):
        fault = read.err_value
        return stem, _rejected(stem, source, f"{fault.fact}. {fault.advice}")
    fenced = read.ok_value
    name = fenced.values.get("name", stem)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        allowed = "letters, digits, '.', '_' and '-', beginning with one of the former"
        fact = f"has the name {quoted_value(name)}. Allowed: {allowed}."
        return stem, _rejected(stem, source, fact)
    given = cast("Mapping[str, object]", fenced.matter.values or {})  # here a key is there even if it has no value
    approved = [key for key in _WHITELIST if key in given]
    if approved and _BLACKLIST in given:
        fact = f"has both '{approved[0]}' and '{_BLACKLIST}'. Give one of them."
        return name, _rejected(name, source, fact)
    lists = {key: _listed(given[key]) for key in (*_WHITELIST, _BLACKLIST) if key in given}
    wrong = next((key for key, names in lists.items() if names is None), None)
    if wrong is not None:
        fact = f"has {quoted_value(given[wrong])} as '{wrong}'. Allowed: a list of names, or names with commas between."
        return name, _rejected(name, source, fact)
    named = tuple(dict.fromkeys(one for names in lists.values() for one in names or ()))
    summary = fenced.values.get("description")
    profile = Profile(
        id=name,
        name=name,
        summary=summary if isinstance(summary, str) else "",
        prompt=fenced.body,
        tools=ToolPolicy(allowed=named) if approved else ToolPolicy(denied=named),
        agent=AgentOptions(is_local=is_local, variables=((STICKY_CHILD_VARIABLE, "1"),)),
        finalize="required",
        source=source,
    )
    return name, Ok(profile)


def _listed(value: object) -> tuple[str, ...] | None:
    if value is None:
        return ()
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        return None
    names = cast("list[object]", items)
    if not all(isinstance(one, str) for one in names):
        return None
    return tuple(name for one in names if (name := str(one).strip()))


def _rejected(name: str, source: str, fact: str) -> Err[OhmError]:
    message = f"The prompt '{name}' ({source}) {fact}".rstrip()
    return Err(OhmError(code=ErrorCode.PROFILE_INVALID, message=message))


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """Every agent by name, and what of their files was not honoured as written."""

    by_name: Mapping[str, Prompt]
    diagnostics: tuple[Diagnostic, ...] = ()


def load_agents(place: Place, folders: Iterable[Path] = ()) -> Agents:
    """Read the agents: those that ship, then the project's, then those of `folders`; a later one replaces its namesake.

    A project's agent, unless the user trusts its file, has at most the rights of the one it replaces and of a reader.
    Of `folders`, which the user names, those within the working directory are the project's too.
    """
    cwd = place.cwd
    with as_file(files("ohm_subagents.suites.sticky").joinpath(FOLDER)) as shipped:
        found = dict(_read(shipped, trust_everything, is_local=False)[0])
    diagnostics: list[Diagnostic] = []
    for folder in (cwd / FOLDER, *(cwd / one for one in folders)):
        is_local = _is_projects(folder, cwd)
        read, trusted = _read(folder, place.trusts if is_local else trust_everything, is_local=is_local)
        diagnostics += (_left_out(name, one.err_value) for name, one in read.items() if isinstance(one, Err))
        formers = {name: one.ok_value for name, one in found.items() if isinstance(one, Ok)}
        found |= read
        usable = ((one.ok_value, name in trusted) for name, one in read.items() if isinstance(one, Ok))
        for held, lost in overriding(usable, formers):
            diagnostics += lost
            found[held.name] = Ok(held)
    return Agents(by_name=found, diagnostics=tuple(diagnostics))


def _is_projects(folder: Path, cwd: Path) -> bool:
    """Return True for a folder within the working directory, as it is written or as its links lead."""
    ways = (os.path.normpath, os.path.realpath)
    return any(PurePath(way(folder.absolute())).is_relative_to(way(cwd.absolute())) for way in ways)


def _left_out(name: str, why: OhmError) -> Diagnostic:
    return Diagnostic(subject=name, message=f"{why.message} No agent '{name}' is there.", severity="error")


def _read(folder: Path, trusts: Covers, *, is_local: bool) -> tuple[Mapping[str, Prompt], frozenset[str]]:
    """Read the agents of a folder; return also the names of those whose files are trusted."""
    found: dict[str, Prompt] = {}
    trusted: set[str] = set()
    for path, text in read_folder(folder):
        if isinstance(text, Err):
            found[path.stem] = _rejected(path.stem, str(path), f"cannot be read: {text.err_value}.")
            continue
        parsed = parse_prompt(text.ok_value, source=str(path), stem=path.stem, is_local=is_local)
        if parsed is not None:
            found |= (parsed,)
            (trusted.add if trusts(path, text.ok_value) else trusted.discard)(parsed[0])
    return found, frozenset(trusted)


class AgentFiles:
    """The agents as one mounting of the suite reads them, at most five seconds old."""

    def __init__(self, context: SuiteContext, folders: tuple[Path, ...]) -> None:
        self._visible = context.visible
        self._agents = TimedCache(lambda: load_agents(context.place, folders), context.clock)

    def agents(self) -> Mapping[str, Prompt]:
        """Return the agents that may be seen, by name, and the error of each file that is rejected."""
        found = self._agents().by_name
        usable = (one.ok_value for one in found.values() if isinstance(one, Ok))
        seen = {profile.name for profile in self._visible(usable)}
        return {name: one for name, one in found.items() if isinstance(one, Err) or name in seen}

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Say what is wrong with the files now."""
        return self._agents().diagnostics
