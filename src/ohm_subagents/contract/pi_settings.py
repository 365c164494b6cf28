"""What 000 reads from `settings.json`, key `subagents`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PiSettings:
    """The values in force, clamped.

    `max_lines_per_window` is for live windows and retrieval views; `command_preview_width` is in terminal cells;
    `extend_timeout_debounce_s` is in seconds, 0 for no extension; `looping_tool_count` is 0 for no loop detection.
    """

    max_lines_per_window: int = 15
    command_preview_width: int = 160
    extend_timeout_debounce_s: float = 30
    looping_tool_count: int = 5
