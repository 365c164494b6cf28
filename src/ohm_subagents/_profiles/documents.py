"""Markdown with YAML front matter, and folders of such files."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents._config.regular_file import read_regular
from ohm_subagents._profiles.yaml_text import YamlText, parse_yaml
from ohm_subagents._records import dataclass
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MAX_FILES: Final = 200
MAX_ENTRIES: Final = 2000
MAX_FRONT_MATTER: Final = 256 * 1024
"""The most files of a folder that are read, names, and characters of front matter in all of them."""
_FENCED: Final = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$\n?(.*)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text with front matter."""

    values: dict[str, object]
    """The front matter, key by key."""
    body: str
    """The trimmed text below it."""
    matter: YamlText
    """The front matter as it was read."""

    def line(self, location: Sequence[int | str]) -> int:
        """Return the line of the file (1-based) of a key or an item of a list, or of what is around it."""
        return self.matter.line(location) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The reason why a file cannot be read."""

    line: int
    """1-based; 0 for the file as a whole."""
    fact: str
    """The fault, as the predicate of a sentence."""
    advice: str = ""
    """A sentence on what to do."""


def split_front_matter(text: str) -> tuple[str, str] | None:
    """Split a text into what is between the first two lines `---` and the trimmed text below; None without them."""
    fenced = _FENCED.fullmatch(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    return None if fenced is None else (fenced[1], fenced[2].strip())


def read_document(text: str) -> Result[Document, Fault]:
    """Read a text with front matter; a key without a value counts as absent."""
    parts = split_front_matter(text)
    if parts is None:
        advice = "Begin the file with '---', the keys, and '---'."
        return Err(Fault(line=1, fact="has no front matter", advice=advice))
    matter, body = parts
    read = parse_yaml(matter)
    if isinstance(read, Err):
        fault = read.err_value
        return Err(Fault(line=fault.line + 1, fact=fault.fact, advice=fault.advice))
    values = _by_text(read.ok_value.values)
    if values is None:
        return Err(Fault(line=2, fact="has front matter that is not a list of keys", advice="Write 'key: value'."))
    return Ok(Document(values=values, body=body, matter=read.ok_value))


def _by_text(values: object) -> dict[str, object] | None:
    if values is None:  # nothing, or comments alone, between the lines
        return {}
    if not isinstance(values, dict):
        return None
    members = cast("dict[object, object]", values)
    return {str(key): value for key, value in members.items() if value is not None}


def read_folder(folder: Path, suffixes: Sequence[str] = (".md",)) -> Iterator[tuple[Path, Result[str, str]]]:
    """Yield the texts of a folder's Markdown files by file name, or why one, or the folder, cannot be read.

    No folder, no files. Of more than a person keeps in a folder, the rest is not read.
    """
    try:
        with os.scandir(folder) as entries:
            found = [*islice(entries, MAX_ENTRIES + 1)]
        paths = sorted(folder / entry.name for entry in found if PurePath(entry.name).suffix in suffixes)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield folder, Err(os_problem(error))
        return
    if len(found) > MAX_ENTRIES or len(paths) > MAX_FILES:
        yield folder, Err(f"it has more than {MAX_FILES} such files, or {MAX_ENTRIES} files in all; no more are read")
    left = MAX_FRONT_MATTER
    for path in paths[:MAX_FILES]:
        text = read_text(path)
        parts = split_front_matter(text.ok_value) if isinstance(text, Ok) else None
        left -= len(parts[0]) if parts else 0
        if left < 0:
            yield path, Err(f"the files of the folder have more than {MAX_FRONT_MATTER} characters of keys")
            return
        yield path, text


def read_text(path: Path) -> Result[str, str]:
    """Return the text of a regular file, or why it cannot be read."""
    try:
        return Ok(read_regular(path).decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Err("it is not UTF-8 text")
    except OSError as error:
        return Err(os_problem(error))


def os_problem(error: OSError) -> str:
    """Return the system's message, as part of a sentence."""
    problem = error.strerror or type(error).__name__
    return f"{problem[:1].lower()}{problem[1:]}"
