"""The files of the page, which are data of this package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@cache
def page_files() -> dict[str, str]:
    """Return the texts of all files by their names."""
    folder = files("ohm_subagents.ui") / "page"
    return {each.name: each.read_text("utf-8") for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES}


def page_file(name: str) -> tuple[str, str] | None:
    """Return the text and the media type of a file; None if there is none of this name."""
    text = page_files().get(name)
    return None if text is None else (text, _TYPES[name.rpartition(".")[2]])
