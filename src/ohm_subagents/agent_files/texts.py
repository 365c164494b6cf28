"""The keys and the prompt of a file: Markdown with front matter that may not quite be YAML, or TOML."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.files import Fault, read_document, split_front_matter
from ohm_subagents.suite import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_KEYS: Final = 16 * 1024
"""The most characters of front matter, as in our own files."""
_KEY: Final = re.compile(r"([A-Za-z][\w.-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)")
_ENTRY: Final = re.compile(r"([A-Za-z][\w.-]*)[ \t]*[=.]")
_STRUCTURE: Final = ("[", "{", "|", ">")
"""The beginnings of a value that is more than the text beside its key."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that cannot be read; a key that asks for less takes it as all that it can ask for."""

    text: str

    def __str__(self) -> str:
        """Return the beginning of the value as it is written."""
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentText:
    """A file as it is written."""

    values: Mapping[str, object]
    """The keys; a value may be `Unreadable`."""
    body: str
    """The text below the keys; empty in TOML."""
    lines: Mapping[str, int]
    """The line of each key, 1-based."""
    fault: Fault | None = None
    """The reason why the keys were read line by line; None for those that are YAML."""


def read_markdown(text: str) -> Result[AgentText, Fault]:
    """Read a text with front matter. Keys that together are no YAML are read one by one."""
    read = read_document(text)
    if isinstance(read, Ok):
        document = read.ok_value
        lines = {key: document.line((key,)) for key in document.values}
        return Ok(AgentText(values=document.values, body=document.body, lines=lines))
    parts = split_front_matter(text)
    if parts is None or len(parts[0]) > MAX_KEYS:
        return read
    blocks = tuple(_blocks(parts[0]))
    if not blocks:
        return read
    values: dict[str, object] = {}
    for key, _, block in blocks:
        values[key] = Unreadable(block[0]) if key in values else _value(key, block)
    lines = {key: line for key, line, _ in reversed(blocks)}
    return Ok(AgentText(values=values, body=parts[1], lines=lines, fault=read.err_value))


def _blocks(matter: str) -> Iterator[tuple[str, int, list[str]]]:
    """Yield each key with its line and its text: the line of the key, and those up to the next one."""
    key, begun, block = "", 0, list[str]()
    for number, line in enumerate(matter.split("\n"), 2):
        found = _KEY.fullmatch(line)
        if found is not None:
            if key:
                yield key, begun, block
            key, begun, block = found[1], number, []
        if line.strip():
            block.append(line)
    if key:
        yield key, begun, block


def _value(key: str, block: list[str]) -> object:
    """Return the value of a key whose lines are YAML; else the text beside it, if it is one."""
    read = read_document("\n".join(("---", *block, "---", "")))
    if isinstance(read, Ok):
        return read.ok_value.values.get(key)
    found = _KEY.fullmatch(block[0])
    beside = (found[2] or "").strip() if found else ""
    if not beside or beside.startswith(_STRUCTURE):
        return Unreadable(" ".join(line.strip() for line in block))
    return " ".join((beside, *(line.strip() for line in block[1:])))


def read_toml(text: str) -> Result[AgentText, Fault]:
    """Read a TOML file."""
    try:
        values = cast("dict[str, object]", tomllib.loads(text.replace("\r\n", "\n")))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        return Err(Fault(line=int(line[1]) if line else 1, fact="is not valid TOML"))
    except RecursionError:
        return Err(Fault(line=1, fact="is nested too deeply"))
    lines: dict[str, int] = {}
    for number, written in enumerate(text.split("\n"), 1):
        entry = _ENTRY.match(written.lstrip("[ \t"))
        name = entry[1] if entry else written.strip("[] \t\r").partition(".")[0]
        if name in values:
            lines.setdefault(name, number)
    return Ok(AgentText(values=values, body="", lines=lines))
