"""What may be printed where."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from typing import TYPE_CHECKING

from ohm_subagents._views.cells import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue


def printable(text: str) -> str:
    """`text` for a terminal: what a subagent wrote cannot move the cursor, ring or rename the window."""
    shown = plain(text)
    if shown.isascii() and shown.replace("\n", "").replace("\t", "").isprintable():
        return shown
    return "".join(char for char in shown if char in "\n\t" or unicodedata.category(char) != "Cc")


def is_terminal() -> bool:
    """Whether a person looks at standard output."""
    return sys.stdout.isatty()


def width() -> int:
    """Columns of the terminal, 80 when there is none."""
    return shutil.get_terminal_size().columns


def print_text(text: str) -> None:
    """Text on standard output: as it is in a pipe, harmless on a terminal."""
    _print(printable(text) if is_terminal() else text)


def print_json(payload: Mapping[str, JsonValue]) -> None:
    """One JSON value on standard output."""
    is_utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    _print(json.dumps(payload, ensure_ascii=not is_utf8, indent=2))


class OutputLost(Exception):  # noqa: N818  it is what has happened
    """Standard output takes nothing more: it is full, or closed, or nobody reads it."""


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError as error:
        raise OutputLost(error.errno, error.strerror) from error
