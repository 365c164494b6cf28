"""The files of the page, which are data of this package."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_MAIN: Final = "main.js"
_SCRIPT: Final = '<script type="module"'
_IMPORT: Final = re.compile(r'^import [^;]*?from "\./([\w.-]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?function|const|let|class)", re.MULTILINE)


@cache
def page_files() -> dict[str, str]:
    """Return the texts of all files by their names."""
    folder = files("ohm_subagents.ui") / "page"
    return {each.name: each.read_text("utf-8") for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES}


@cache
def page_script() -> str:
    """Return the modules as one, which a browser loads at once, each behind those that it imports.

    A name is given once in all of them.
    """
    sources, order = page_files(), dict[str, None]()

    def take(name: str) -> None:
        if name not in order:
            for imported in _IMPORT.findall(sources[name]):
                take(imported)
            order[name] = None

    take(_MAIN)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", sources[name])) for name in order)


def page_file(name: str) -> tuple[str, str] | None:
    """Return the text and the media type of a file, of a script with all that it needs; None for no such file."""
    text = page_script() if name == _MAIN else page_files().get(name)
    return None if text is None else (text, _TYPES[name.rpartition(".")[2]])


def started_page(first_asked: str) -> str:
    """Return the page; a browser asks for the data at an address while it still reads the script that wants it."""
    page = page_files()["index.html"]
    if not first_asked:
        return page
    ahead = f'<link rel="preload" href="{escape(first_asked)}" as="fetch" crossorigin>'
    return page.replace(_SCRIPT, f"{ahead}\n    {_SCRIPT}")
