"""`ohm call`: one call of a tool, as a parent agent would make it."""

from __future__ import annotations

import json
import signal
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents.cli.exits import BAD_USAGE, SUCCESS, complain, exit_code, report
from ohm_subagents.cli.live import drawn
from ohm_subagents.cli.signals import until_signal
from ohm_subagents.cli.terminal import is_terminal, print_json, print_text, width

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents._plugins.interfaces import ToolResult


async def call(tool: str, arguments: str, *, cwd: Path, config: Path | None, as_json: bool) -> int:
    """Call a tool and print its result; the exit code."""
    from ohm_subagents import Ohm

    try:
        payload: JsonValue = json.loads(arguments)
    except ValueError as error:
        complain(f"The arguments are not JSON: {error}.")
        return BAD_USAGE
    async with Ohm.open(cwd=cwd, config=config) as ohm:
        report(ohm.diagnostics)
        frames = _Frames()
        is_live = is_terminal() and not as_json
        with drawn(frames.frame) if is_live else nullcontext():
            ended = await until_signal(partial(ohm.call, tool, payload, on_update=frames.update if is_live else None))
        if isinstance(ended, signal.Signals):
            if frames.last is not None:
                complain(frames.last.render(expanded=True, width=width()))
            complain("Interrupted.")
            return 128 + ended
        if as_json:
            print_json(ended.details)
        elif is_live:
            print_text(ended.render(expanded=True, width=width()))
        else:
            print_text(ended.text)
        return _code(ended)


class _Frames:
    """The newest progress frame."""

    def __init__(self) -> None:
        self.last: ToolResult | None = None

    def update(self, frame: ToolResult) -> None:
        self.last = frame

    def frame(self, columns: int, _height: int) -> str:
        return "" if self.last is None else self.last.render(expanded=True, width=columns)


def _code(result: ToolResult) -> int:
    if not result.is_error:
        return SUCCESS
    details = result.details
    return exit_code(
        code=str(details.get("error_code")),
        category=str(details.get("error_category")),
        started=bool(details.get("task_id") or details.get("items")),
    )
