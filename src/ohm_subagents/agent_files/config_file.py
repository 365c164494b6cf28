"""The agents that a program has in its configuration: `agent` of `opencode.json`, one entry each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.agent_files.reader import AgentFile, left_out, read_agent
from ohm_subagents.agent_files.texts import AgentText
from ohm_subagents.files import Fault, read_settings, read_text, trust_everything
from ohm_subagents.suite import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_subagents.agent_files.dialects import Dialect
    from ohm_subagents.files import Covers, Layer
    from ohm_subagents.suite import ModelPattern, Place

_KEYS: Final = ("agent", "agents")
_COMMON: Final = ("tools", "permission")
"""The keys of the file that hold for each agent, but where its own entry has another verdict on the same tool."""
_OWN: Final = ("build", "plan", "general", "explore", "scout", "compaction", "summary", "title")
"""The program's own agents, which an entry only changes unless it makes them anew."""
_FILE: Final = re.compile(r"\{file:([^{}]+)\}")
_UNREAD: Final = "-"
"""In place of a prompt that cannot be had: an agent that is turned off, or for people, needs none."""
_FILLED: Final = re.compile(r"\{(?:file|env):")


def configured_agents(
    path: Path, dialect: Dialect, aliases: Mapping[str, ModelPattern], place: Place, *, is_local: bool
) -> Iterator[tuple[Path, AgentFile, bool]]:
    """Yield the agents of a file as they are read, and True for those that the user trusts; none if there is no file.

    A prompt that is `{file:…}` is the text of that file, which has to be in the project, if that has the agent.
    """
    trusts: Covers = place.trusts if is_local else trust_everything
    read = read_settings(path, "project" if is_local else "user", trusts=trusts)
    if isinstance(read, Err):
        fault = Fault(line=0, fact=f"cannot be read ({read.err_value.message.rstrip('.')})")
        yield path, left_out(str(path), path.name, fault), False
        return
    layer = read.ok_value
    if layer is None:
        return
    entries = {name: (key, one) for key in _KEYS for name, one in _members(layer.values.get(key)).items()}
    for name, (key, entry) in entries.items():
        line = layer.place((key, name)).line or 1
        values = _members(entry)
        if name in _OWN and not {"prompt", "description"} <= values.keys():
            continue
        keys = _with_common({one: value for one, value in values.items() if one != "prompt"}, layer)
        lines = {one: layer.place((key, name, one) if one in values else (one,)).line or line for one in keys}
        prompt = _prompt(values.get("prompt"), path, place.cwd if is_local else None, trusts)
        body, is_trusted = prompt.unwrap_or((_UNREAD, False))
        agent = AgentText(values=keys, body=body, lines={"description": line, **lines})
        file = read_agent(agent, dialect, source=str(path), stem=name, aliases=aliases)
        if isinstance(prompt, Err) and file.profile is not None:
            file = left_out(str(path), name, Fault(line=line, fact=prompt.err_value, advice=""))
        yield path, file, is_trusted and (layer.is_trusted or not is_local)


def _members(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _with_common(keys: Mapping[str, object], layer: Layer) -> Mapping[str, object]:
    """Return the keys of an agent with the verdicts of the file on tools that it has none of its own on."""
    joined = {**keys}
    for key in _COMMON:
        common, own = _members(layer.values.get(key)), keys.get(key, {})
        if common and own == _members(own):
            joined[key] = _joined(common, _members(own))
    return joined


def _joined(common: Mapping[str, object], own: Mapping[str, object]) -> Mapping[str, object]:
    """Return the verdicts of both; where an agent has rules for patterns, those of the file come before them."""
    rules = {name: {**_rules(common.get(name)), **_members(one)} for name, one in own.items() if _members(one)}
    return {**common, **own, **rules}


def _rules(verdict: object) -> Mapping[str, object]:
    return {"*": verdict} if isinstance(verdict, str | bool) else _members(verdict)


def _prompt(written: object, path: Path, project: Path | None, trusts: Covers) -> Result[tuple[str, bool], str]:
    """Return a prompt, and True if the user trusts the file that it is in; an `Err` says why there is none."""
    if not isinstance(written, str) or not written.strip():
        return Err("has no prompt")
    found = _FILE.fullmatch(written.strip())
    if found is None:
        return (
            Err("has a part of its prompt elsewhere ('{file:…}', '{env:…}')")
            if _FILLED.search(written)
            else Ok((written, True))
        )
    file = path.parent / Path(found[1].strip()).expanduser()
    if project is not None and not file.resolve().is_relative_to(project.resolve()):
        return Err(f"has its prompt outside of the project ('{file}')")
    read = read_text(file)
    if isinstance(read, Err):
        return Err(f"has its prompt in '{file}', which cannot be read ({read.err_value})")
    return Ok((read.ok_value, trusts(file, read.ok_value)))
