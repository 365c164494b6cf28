"""`settings.json` of the coding agent, key `subagents`: the user's file, and the project's above it."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.files import (
    MAX_INTEGER,
    TRUST_COMMAND,
    Layer,
    is_one_place,
    quoted_value,
    read_settings,
    trust_nothing,
)
from ohm_subagents.suite import Diagnostic, Err

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.files import Covers
    from ohm_subagents.suite import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegateSettings:
    """The values in force, each within its range.

    Fields:
        max_lines_per_window: lines of a live window and of a retrieval view.
        command_preview_width: width of a previewed command, in terminal cells.
        extend_timeout_debounce_s: seconds by which a tool call extends the timeout; 0 for no extension.
        looping_tool_count: identical tool calls that end a task; 0 for no loop detection.
    """

    max_lines_per_window: int = 15
    command_preview_width: int = 160
    extend_timeout_debounce_s: float = 30
    looping_tool_count: int = 5


FILE_NAME: Final = "settings.json"
SECTION: Final = "subagents"
MIN_WIDTH: Final = 20
_MARGIN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """The key of a number, what it is without one or with one up to `void`, its range, and what it has to be."""

    key: str
    default: float
    least: float
    most: float
    expected: str
    void: float = -math.inf


_LINES: Final = _Rule(
    key="maxLinesPerWindow", default=15, least=1, most=MAX_INTEGER, expected="a number above 0", void=0
)
_WIDTH: Final = _Rule(
    key="commandPreviewWidth", default=160, least=MIN_WIDTH, most=MAX_INTEGER, expected="a number, 20 or more"
)
_DEBOUNCE: Final = _Rule(
    key="extend_timeout_debounce", default=30, least=0, most=300, expected="a number of seconds from 0 to 300"
)
_LOOPING: Final = _Rule(key="looping_tool_count", default=5, least=0, most=50, expected="a number from 0 to 50")


def load_settings(place: Place, *, columns: int | None = None) -> tuple[DelegateSettings, tuple[Diagnostic, ...]]:
    """Read both files; of a key the project's value counts, even one that is wrong.

    Of a project that the user does not trust, a value counts only if it asks for less than the one in force. A file
    that cannot be read counts as empty. `columns`, the width of a terminal, replaces the configured width.
    """
    reader = _Reader()
    user, project = place.agent_dir / FILE_NAME, place.cwd / ".pi" / FILE_NAME
    reader.read(user)
    if not is_one_place(project, user):
        reader.read(project, place.trusts)
    lines, width, debounce, looping = (reader.number(one) for one in (_LINES, _WIDTH, _DEBOUNCE, _LOOPING))
    settings = DelegateSettings(
        max_lines_per_window=math.floor(lines),
        command_preview_width=math.floor(width) if columns is None else max(MIN_WIDTH, columns - _MARGIN),
        extend_timeout_debounce_s=debounce,
        looping_tool_count=math.floor(looping),
    )
    return settings, tuple(reader.wrong)


def terminal_columns() -> int | None:
    """Return the width of the terminal on standard output; None if it is none."""
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or None if sys.__stdout__ else None
    except (OSError, ValueError):
        return None


def _number(value: JsonValue, rule: _Rule) -> float:
    """Return the number within the range that a value counts as."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    return rule.default if number is None or number <= rule.void else min(max(number, rule.least), rule.most)


class _Reader:
    """Reads the files key by key, and collects what is wrong with them."""

    def __init__(self) -> None:
        self.wrong: list[Diagnostic] = []
        self._said: dict[str, tuple[JsonValue, Layer]] = {}

    def read(self, path: Path, trusts: Covers | None = None) -> None:
        read = read_settings(path, "given" if trusts is None else "project", trusts=trusts or trust_nothing)
        if isinstance(read, Err):
            message = f"{read.err_value.message} It counts as empty."
            self.wrong.append(Diagnostic(subject=FILE_NAME, message=message))
            return
        layer = read.ok_value
        section = None if layer is None else layer.values.get(SECTION)
        if layer is None or section is None:
            return
        if not isinstance(section, dict):
            self._note(layer, (SECTION,), f"is {quoted_value(section)}, but has to be an object; it is ignored.")
            return
        is_held = layer.kind == "project" and not layer.is_trusted
        self._said |= {
            key: (value, layer) for key, value in section.items() if not is_held or self._is_less(key, value, layer)
        }

    def _is_less(self, key: str, value: JsonValue, layer: Layer) -> bool:
        """Return True if an untrusted project may set it: a number of the range, at most the one in force."""
        rule = next((one for one in (_LINES, _WIDTH, _DEBOUNCE, _LOOPING) if one.key == key), None)
        if rule is None:
            return False
        said, _ = self._said.get(key, (rule.default, None))
        in_force = _number(said, rule)
        counts = _number(value, rule)
        is_off, was_off = (rule is _LOOPING and math.floor(one) == 0 for one in (counts, in_force))
        if counts == value and (was_off or (counts <= in_force and not is_off)):
            return True
        message = (
            f"is {quoted_value(value)}, which has no effect: a project that is not trusted may say at most {in_force:g}"
            f"{', and not 0' if rule is _LOOPING else ''}."
        )
        self._note(layer, (SECTION, key), message, advice=f"To allow it, trust the project ('{TRUST_COMMAND}').")
        return False

    def number(self, rule: _Rule) -> float:
        """Return the value in force: a number within its range."""
        if rule.key not in self._said:
            return rule.default
        value, layer = self._said[rule.key]
        held = _number(value, rule)
        if held != value or isinstance(value, bool):
            message = f"is {quoted_value(value)}, but has to be {rule.expected}; it counts as {held:g}."
            self._note(layer, (SECTION, rule.key), message)
        return held

    def _note(self, layer: Layer, path: tuple[str, ...], message: str, *, advice: str = "") -> None:
        place = layer.place(path)
        self.wrong.append(place.diagnostic(f"'{place.key}' {message}", advice=advice))
