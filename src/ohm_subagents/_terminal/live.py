"""The live display: frames of a running task, drawn in place until it ends."""

from __future__ import annotations

import time
from collections import deque
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents._terminal.signals import aborted_by_signal
from ohm_subagents._views.cells import fit, one_line, printable, wrap
from ohm_subagents._views.quantities import usage_parts
from ohm_subagents._views.task_texts import tool_rows
from ohm_subagents._views.tree import MIN_WIDTH, TreeLimits, tree_lines
from ohm_subagents._views.tree_entries import entry_of
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Generator

    from ohm_subagents import Ohm
    from ohm_subagents._plugins.suites.tool import ToolResult
    from ohm_subagents.contract import Event, Task

FRAMES_A_SECOND: Final = 10
_PREFIX: Final = len("    ╰── ")
_STREAMED_LINES: Final = 8
_PROMPT_LINES: Final = 3
_FINAL_ROWS: Final = 20


async def call_live(
    ohm: Ohm,
    tool: str,
    arguments: object,
    *,
    draw: Callable[[ToolResult, int, int], str] | None,
    clean: Callable[[str], str] = printable,
) -> tuple[ToolResult | None, signal.Signals | None]:
    """Call a tool until it ends, or a signal ends it; return its result, or its last frame, and the signal.

    `draw(frame, width, height)` draws the newest progress frame; None for no live display.
    """
    newest: list[ToolResult] = []

    def update(frame: ToolResult) -> None:
        newest[:] = [frame]

    def drawn_frame(width: int, height: int) -> str:
        return draw(newest[0], width, height) if draw and newest else ""

    with drawn(drawn_frame, clean=clean) if draw else nullcontext():
        result, number = await aborted_by_signal(lambda abort: ohm.call(tool, arguments, on_update=update, abort=abort))
    return result or next(iter(newest), None), number


class TaskWatch:
    """An observer that keeps the newest state of the one task it watches."""

    def __init__(self) -> None:
        self.task: Task | None = None
        self._began = time.monotonic()

    def notify(self, task: Task, event: Event) -> None:
        """Remember the state; drawing is another thread's work."""
        self.task = task

    def frame(self, width: int, height: int) -> str:
        """Draw the running task, newest at the bottom: prompt, latest tool rows, end of the streamed answer."""
        if self.task is None:
            return "  ⠋ Starting…"
        elapsed_ms = int(1000 * (time.monotonic() - self._began))
        return "\n".join(running_lines(self.task, elapsed_ms=elapsed_ms, width=width, height=height))


@contextmanager
def drawn(frame: Callable[[int, int], str], *, clean: Callable[[str], str] = printable) -> Generator[None, None, None]:
    """Draw `frame(width, height)` on the terminal again and again, and wipe it at the end.

    `clean` takes out of a frame what may not reach the terminal.
    """
    from rich.ansi import AnsiDecoder
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False)

    def renderable() -> Text:
        width, height = console.size
        lines = clean(frame(width, height)).split("\n")
        decode = AnsiDecoder().decode_line
        return Text("\n", no_wrap=True, overflow="crop").join(decode(line) for line in lines[1 - height :])

    live = Live(
        console=console,
        get_renderable=renderable,
        refresh_per_second=FRAMES_A_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    live.start()
    try:
        yield
    finally:
        with suppress(OSError):  # the terminal was closed
            live.stop()


def running_lines(task: Task, *, elapsed_ms: int, width: int, height: int) -> list[str]:
    """Return the lines of a running task, at most `height` if that is enough for one row and one line of answer."""
    inner = max(MIN_WIDTH, width) - _PREFIX
    tail = printable(task.text[-inner * _STREAMED_LINES :]).strip()
    said = "\n".join(deque(wrap(tail, inner), _STREAMED_LINES))
    rows = max(1, height - _STREAMED_LINES - _PROMPT_LINES - 3)
    entry = entry_of(task, expanded=False, output_max_chars=0)._replace(
        result=said or "Working...",
        rows=_fitted_rows(task, inner),
        elapsed_ms=elapsed_ms,
    )
    limits = TreeLimits(prompt_lines=_PROMPT_LINES, rows=rows, result_lines=_STREAMED_LINES)
    return tree_lines([entry], limits=limits, width=width)


def finished_lines(task: Task, *, width: int) -> list[str]:
    """Return the lines of a settled task: prompt, tool rows, ending and route, without the answer."""
    inner = max(MIN_WIDTH, width) - _PREFIX
    entry = entry_of(task, expanded=False, output_max_chars=0)
    entry = entry._replace(result=_ending(task), rows=_fitted_rows(task, inner))
    limits = TreeLimits(prompt_lines=_PROMPT_LINES, rows=_FINAL_ROWS, result_lines=2)
    return tree_lines([entry], limits=limits, width=width)


def _fitted_rows(task: Task, width: int) -> tuple[str, ...]:
    """Return the tool rows on one line each, cut inside a word if need be: a path is one long word."""
    return tuple(fit(one_line(row), width) for row in tool_rows(task))


def _ending(task: Task) -> str:
    seconds = ((task.ended_ms or task.updated_ms) - (task.started_ms or task.assignment.created_ms)) / 1000
    route = task.route
    who = route.runtime if route.model == UNAVAILABLE else f"{route.provider}/{route.model}"
    return " · ".join([f"{task.status.capitalize()} after {seconds:.1f}s", who, *usage_parts(task.activity.usage)])
