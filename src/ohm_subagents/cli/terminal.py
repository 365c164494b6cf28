"""What may be printed where."""

from __future__ import annotations

import json
import re
import shutil
import sys
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import printable, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import JsonValue


_STYLE: Final = re.compile("(\x1b\\[[0-9;]*m)")


def styled(text: str) -> str:
    """`text` for a terminal with its colours, and with no other sequence: for views, which clean what they show."""
    return "".join(part if at % 2 else printable(part) for at, part in enumerate(_STYLE.split(text)))


def is_terminal() -> bool:
    """Whether a person looks at standard output."""
    return sys.stdout.isatty()


def width() -> int:
    """Columns of the terminal, 80 when there is none."""
    return shutil.get_terminal_size().columns


def print_text(text: str) -> None:
    """Text on standard output: as it is in a pipe, harmless on a terminal."""
    _print(printable(text) if is_terminal() else text)


def print_styled(text: str) -> None:
    """The same, in the colours that it has."""
    _print(styled(text) if is_terminal() else text)


def print_prose(text: str) -> None:
    """Text on standard output, wrapped between words on a terminal."""
    _print("\n".join(wrap(printable(text), width())) if is_terminal() else text)


def print_json(payload: Mapping[str, JsonValue] | Sequence[JsonValue]) -> None:
    """One JSON value on standard output."""
    print_text(json.dumps(payload, ensure_ascii=not _takes_unicode(), indent=2))


def print_json_lines(payloads: Iterable[Mapping[str, JsonValue]]) -> None:
    """One JSON value a line on standard output."""
    for payload in payloads:
        print_text(json_line(payload, is_ascii=not _takes_unicode()))


def json_line(payload: Mapping[str, JsonValue], *, is_ascii: bool = False) -> str:
    """Without a line break in it."""
    return json.dumps(payload, ensure_ascii=is_ascii, separators=(",", ":"))


def _takes_unicode() -> bool:
    return sys.stdout.encoding.lower().replace("-", "") == "utf8"


class OutputLost(Exception):  # noqa: N818  it is what has happened
    """Standard output takes nothing more: it is full, or closed, or nobody reads it."""


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError as error:
        raise OutputLost(error.errno, error.strerror) from error
