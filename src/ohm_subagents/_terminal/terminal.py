"""Print to a terminal and to a pipe."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import UNPRINTABLE, hung, printable, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TextIO

    from pydantic import JsonValue


_MARKDOWN: Final = re.compile(
    r"^ {0,3}(?:#{1,6} |```|~~~|[-*+] \S|\d{1,9}[.)] \S|> |\|.*\|\s*$)|\*\*\S|`[^`\n]+`|\]\(\S", re.MULTILINE
)
"""The marks by which a text is taken for Markdown; any other is shown as it was written."""
_MOST_DRAWN: Final = 200_000
"""The most characters that are drawn as Markdown: it takes a second."""
_TOKENS: Final[Mapping[str, str]] = MappingProxyType(
    {"softbreak": "hardbreak", "html_inline": "text", "html_block": "code_block"}
)
"""Kinds of Markdown that are drawn as another one."""
_STYLE: Final = re.compile("(\x1b\\[[0-9;]*m)")


def styled(text: str) -> str:
    """Return a text with its colours and without any other escape sequence."""
    return "".join(part if at % 2 else printable(part) for at, part in enumerate(_STYLE.split(text)))


def is_terminal() -> bool:
    """Return True if standard output is a terminal."""
    return sys.stdout.isatty()


def width() -> int:
    """Return the columns of the terminal, 80 without one."""
    return shutil.get_terminal_size().columns


def height() -> int:
    """Return the lines of the terminal, 24 without one."""
    return shutil.get_terminal_size().lines


def print_text(text: str) -> None:
    """Print a text on standard output, without anything that drives a terminal."""
    _print(printable(text))


def print_wrapped(text: str) -> None:
    """Print a text that is for people alone, on a terminal wrapped between words."""
    shown = printable(text)
    _print("\n".join(hung(shown, width())) if is_terminal() else shown)


def print_styled(text: str) -> None:
    """Print a text, on a terminal with its colours."""
    _print(styled(text) if is_terminal() else printable(text))


def print_prose(text: str) -> None:
    """Print a text, on a terminal wrapped between words, and its Markdown drawn."""
    _print("\n".join(prose_lines(text)))


def prose_lines(text: str) -> Iterable[str]:
    """Return the lines of a text, for a terminal wrapped between words, and its Markdown drawn."""
    shown = printable(text)
    if not is_terminal():
        return shown.split("\n")
    if len(shown) <= _MOST_DRAWN and _MARKDOWN.search(shown):
        return _drawn_markdown(shown)
    return wrap(shown, width())


def _drawn_markdown(text: str) -> list[str]:
    """Draw Markdown: a line stays a line, HTML is shown as written, and a link tells where it leads.

    The names of characters (`&#x202e;`) are read on the way, so what is drawn is cleaned once more.
    """
    from rich.console import Console
    from rich.markdown import Markdown

    from ohm_subagents._terminal.theme import terminal_theme
    from ohm_subagents._views.theme import PLAIN

    markdown = Markdown(text, code_theme="ansi_dark", hyperlinks=False)
    for token in markdown.parsed:
        token.type = _TOKENS.get(token.type, token.type)
        for child in token.children or ():
            child.type = _TOKENS.get(child.type, child.type)
    console = Console(width=width(), color_system=None if terminal_theme() is PLAIN else "auto")
    with console.capture() as drawn:
        console.print(markdown)
    return [line.rstrip() for line in styled(drawn.get()).strip("\n").split("\n")]


def print_json(payload: Mapping[str, JsonValue] | Sequence[JsonValue]) -> None:
    """Print one JSON value."""
    _print(_escaped(json.dumps(payload, ensure_ascii=not _takes_unicode(), indent=2)))


def print_json_lines(payloads: Iterable[Mapping[str, JsonValue]]) -> None:
    """Print one JSON value a line."""
    for payload in payloads:
        _print(json_line(payload, is_ascii=not _takes_unicode()))


def json_line(payload: Mapping[str, JsonValue], *, is_ascii: bool = False) -> str:
    """Return JSON without a line break in it, nor anything that drives a terminal."""
    return _escaped(json.dumps(payload, ensure_ascii=is_ascii, separators=(",", ":")))


def _escaped(written: str) -> str:
    """Write JSON with escapes for the characters that a terminal must not get."""
    return UNPRINTABLE.sub(lambda found: json.dumps(found[0])[1:-1], written)


def _takes_unicode() -> bool:
    return sys.stdout.encoding.lower().replace("-", "") == "utf8"


class _Harmless(io.TextIOWrapper):
    def __init__(self, stream: TextIO) -> None:
        stream.flush()
        self._stream = stream  # it closes the descriptor once it is unused
        raw = io.FileIO(stream.fileno(), "w", closefd=False)
        super().__init__(io.BufferedWriter(raw), stream.encoding, errors="backslashreplace", line_buffering=True)

    def write(self, text: str, /) -> int:
        return super().write(printable(text))


def harmless(stream: TextIO) -> TextIO:
    """Return a stream to the same place that cleans what libraries print, such as what was typed."""
    return _Harmless(stream)


class OutputLost(Exception):  # noqa: N818  it is what has happened
    """Standard output is full, closed or without a reader."""


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError as error:
        raise OutputLost(error.errno, error.strerror) from error
