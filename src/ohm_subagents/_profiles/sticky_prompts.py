"""The agents of 003: `prompts/*.md`, those that ship, the project's, and those of folders that are configured."""

from __future__ import annotations

import re
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents._config.values import shown
from ohm_subagents._profiles.fenced import read_fenced, read_folder, split
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import Profile, ToolPolicy
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FOLDER: Final = "prompts"
CHILD: Final = (("PI_STICKY_SUBAGENT_CHILD", "1"),)
"""By this a process knows that it works for an agent of 003."""
_WHITELIST: Final = ("approved_tools", "allowed_tools")
_BLACKLIST: Final = "denied_tools"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Prompt = Result[Profile, OhmError]
"""An agent, or why its file is rejected: in those words whoever calls it is answered."""


def parse_prompt(text: str, *, source: str, stem: str, is_local: bool) -> tuple[str, Prompt] | None:
    """The name and the agent of a file; None for one without front matter, which is no agent.

    A whitelist is `ToolPolicy.allowed`; a blacklist, or nothing, is `denied`. Returns `profile_invalid` for a file that
    has both, a name that is not safe in a path, or a list that is none.
    """
    if split(text) is None:
        return None
    read = read_fenced(text)
    if isinstance(read, Err):
        fault = read.err_value
        return stem, _rejected(stem, source, f"{fault.fact}. {fault.advice}")
    fenced = read.ok_value
    name = fenced.values.get("name", stem)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        told = (
            f"has the name {shown(name)}. Allowed: letters, digits, '.', '_' and '-', beginning with one of the former."
        )
        return stem, _rejected(stem, source, told)
    given = cast("Mapping[str, object]", fenced.matter.values)  # here a key is there even if it has no value
    approved = [key for key in _WHITELIST if key in given]
    if approved and _BLACKLIST in given:
        told = f"has both '{approved[0]}' and '{_BLACKLIST}'. Give one of them."
        return name, _rejected(name, source, told)
    lists = {key: _listed(given[key]) for key in (*_WHITELIST, _BLACKLIST) if key in given}
    wrong = next((key for key, names in lists.items() if names is None), None)
    if wrong is not None:
        told = f"has {shown(given[wrong])} as '{wrong}'. Allowed: a list of names, or names with commas between."
        return name, _rejected(name, source, told)
    named = tuple(dict.fromkeys(one for names in lists.values() for one in names or ()))
    summary = fenced.values.get("description")
    profile = Profile(
        id=name,
        name=name,
        summary=summary if isinstance(summary, str) else "",
        prompt=fenced.body,
        tools=ToolPolicy(allowed=named) if approved else ToolPolicy(denied=named),
        agent=AgentOptions(is_local=is_local, variables=CHILD),
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


def load_prompts(*, cwd: Path, folders: Iterable[Path] = ()) -> Mapping[str, Prompt]:
    """Every agent by name: those that ship, then the project's, then those of `folders`; the later one stands."""
    with as_file(files("ohm_subagents._profiles").joinpath(FOLDER)) as shipped:
        found = _read(shipped, is_local=False)
    found |= _read(cwd / FOLDER, is_local=True)
    for folder in folders:
        found |= _read(cwd / folder, is_local=True)
    return found


def _read(folder: Path, *, is_local: bool) -> dict[str, Prompt]:
    found: dict[str, Prompt] = {}
    for path, text in read_folder(folder):
        if isinstance(text, Err):
            found[path.stem] = _rejected(path.stem, str(path), f"cannot be read: {text.err_value}.")
            continue
        parsed = parse_prompt(text.ok_value, source=str(path), stem=path.stem, is_local=is_local)
        if parsed is not None:
            found |= (parsed,)
    return found
