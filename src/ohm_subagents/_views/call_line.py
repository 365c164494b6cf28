"""The line of a call that views show: the tool, and its arguments or the one that matters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ohm_subagents._views.cells import one_line

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents._views.theme import Theme


def call_line(tool: str, arguments: JsonValue, theme: Theme, *, argument: str | None = None) -> str:
    """Draw a call in one line: the tool, then all arguments as JSON, or the text of one `argument` alone.

    The arguments may be those of a model that still writes: a text that is not there yet is shown as `?`.
    """
    if argument is None:
        shown = "" if arguments in ({}, None) else f" {json.dumps(arguments, ensure_ascii=False)}"
        return theme.fg("toolTitle", theme.bold(tool)) + shown
    value = arguments.get(argument) if isinstance(arguments, dict) else None
    text = one_line(value) if isinstance(value, str) and value else "?"
    return theme.fg("toolTitle", theme.bold(f"{tool} ")) + theme.fg("accent", text)
