"""`ohm call`: one call of a tool, as a parent agent would make it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from pydantic_core import from_json

from ohm_subagents._terminal.exits import BAD_USAGE, SUCCESS, TASK_FAILED, complain, report
from ohm_subagents._terminal.live import drawn
from ohm_subagents._terminal.signals import aborted_by_signal
from ohm_subagents._terminal.terminal import is_terminal, print_json, print_text, width
from ohm_subagents.cli.failure import exit_code
from ohm_subagents.contract.text import encodable

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents import Ohm
    from ohm_subagents._plugins.suites.interface import ToolResult


async def call(tool: str, arguments: str, *, cwd: Path, config: Path | None, as_json: bool) -> int:
    """Call a tool and print its result; the exit code."""
    from ohm_subagents import Ohm

    try:
        payload: JsonValue = from_json(encodable(arguments))
    except ValueError as error:
        complain(f"The arguments are not JSON: {error}.")
        return BAD_USAGE
    async with Ohm.open(cwd=cwd, config=config) as ohm:
        told = ohm.diagnostics
        report(told)
        code = await _called(ohm, tool, payload, as_json=as_json)
    report([each for each in ohm.diagnostics if each not in told])  # say that a task could not be kept
    return code


async def _called(ohm: Ohm, tool: str, payload: JsonValue, *, as_json: bool) -> int:
    frames = _Frames()
    is_live = is_terminal() and not as_json
    with drawn(frames.frame) if is_live else nullcontext():
        result, number = await aborted_by_signal(
            lambda abort: ohm.call(tool, payload, on_update=frames.update, abort=abort)
        )
    ended = result or frames.last
    if as_json:
        print_json({} if ended is None else ended.details)
    elif number is not None:
        complain("" if ended is None else ended.render(expanded=True, width=width()))
    elif ended is not None:
        print_text(ended.render(expanded=True, width=width()) if is_live and not ended.is_error else ended.text)
    if number is not None:
        complain("Interrupted.")
        return 128 + number
    return TASK_FAILED if ended is None else _code(ended)


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
        return TASK_FAILED if result.has_failed else SUCCESS
    details = result.details
    return exit_code(
        code=str(details.get("error_code")),
        category=str(details.get("error_category")),
        started=bool(details.get("task_id")),
    )
