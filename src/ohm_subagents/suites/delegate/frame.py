"""Sub-agents at work, on a screen of so many lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from ohm_subagents.suites.delegate.details import Windows
from ohm_subagents.suites.delegate.windows import all_lines, global_header, window_header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents.views import View


def frame_lines(details: Mapping[str, JsonValue], view: View, *, height: int, now_ms: int) -> list[str]:
    """Return the collapsed windows in at most `height` lines: each with as many of its newest as there is room for.

    Where there is room for none, the windows are their headers, and the last of many are left out.
    """
    try:
        windows = Windows.model_validate(details)
    except ValidationError:
        return []
    least = list(all_lines(_cut(windows, 1), view, now_ms))
    spare = height - len(least)
    if spare >= 0:
        return list(all_lines(_cut(windows, 1 + spare // max(1, len(windows.windows))), view, now_ms))
    theme = view.theme
    headers = [window_header(window, now_ms=now_ms, width=view.width, theme=theme) for window in windows.windows]
    return [global_header((window.status for window in windows.windows), theme), "", *headers][: max(1, height)]


def _cut(windows: Windows, lines: int) -> Windows:
    cut = tuple(window.model_copy(update={"lines": window.lines[-lines:]}) for window in windows.windows)
    return windows.model_copy(update={"windows": cut})
