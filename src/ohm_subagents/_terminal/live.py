"""The live display: frames of running tasks, drawn in place until they end, and keys that steer them."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._terminal.command import complain
from ohm_subagents._terminal.on_demand import OhmOnDemand
from ohm_subagents._terminal.prompts import answered_here
from ohm_subagents._terminal.shown import Front
from ohm_subagents._terminal.signals import aborted_by_signal
from ohm_subagents._views.cells import one_line

if TYPE_CHECKING:
    import signal
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents import Ohm
    from ohm_subagents._plugins.suites.tool import ToolResult
    from ohm_subagents._terminal.board import Board
    from ohm_subagents._terminal.shown import Shown

_NO_KEYS: Final = (
    "Standard input is no terminal: no keys are read, and nobody is asked here. What becomes of calls that rules ask "
    "about is what subagents.requests.unattended says."
)


async def call_live(
    ohm: Ohm, tool: str, arguments: object, *, board: Board | None, within_s: float | None = None
) -> tuple[ToolResult | None, signal.Signals | None]:
    """Call a tool until it ends, or a signal ends it; return its result, or its last frame, and the signal.

    The tasks of `board` are drawn meanwhile; None for no live display. After `within_s` seconds the call is aborted.
    """
    newest: list[ToolResult] = []

    def update(frame: ToolResult) -> None:
        newest[:] = [frame]

    async def called(abort: anyio.Event) -> ToolResult:
        results: list[ToolResult] = []
        async with anyio.create_task_group() as group:
            if within_s is not None:
                group.start_soon(_abort_after, within_s, abort)
            results.append(await ohm.call(tool, arguments, on_update=update, abort=abort))
            group.cancel_scope.cancel()
        return results[0]

    async with watched(ohm, board):
        result, number = await aborted_by_signal(called)
    return result or next(iter(newest), None), number


async def _abort_after(seconds: float, abort: anyio.Event) -> None:
    await anyio.sleep(seconds)
    abort.set()


@asynccontextmanager
async def watched(ohm: Ohm | OhmOnDemand, shown: Shown | None) -> AsyncGenerator[None]:
    """Draw tasks, obey keys, and ask the person at the terminal what subagents request.

    Nothing to show is no live display, and no keys. An `Ohm` on demand is opened by the first key that steers, and
    closed in the end; nobody is asked before that.
    """
    own = None if isinstance(ohm, OhmOnDemand) else ohm
    answered = nullcontext() if own is None else answered_here(own)
    if shown is None:
        with answered:
            yield
        return
    if own is not None and (sys.stdin is None or not sys.stdin.isatty()):  # pyright: ignore[reportUnnecessaryComparison]  None when the shell closed it
        complain(_NO_KEYS)
    from ohm_subagents._terminal.display import drawn
    from ohm_subagents._terminal.key_reader import has_keyboard
    from ohm_subagents._terminal.keys import Keyboard

    front = Front(shown)
    unanswered: Iterable[str] = ()
    try:
        with drawn(front.frame) as display:
            if not has_keyboard():
                with answered:
                    yield
                return
            async with anyio.create_task_group() as group:
                keyboard = Keyboard(ohm, front, display, group)
                group.start_soon(keyboard.run)
                with nullcontext() if own is None else own.answering(keyboard.prompts, by="terminal"):
                    yield
                unanswered = keyboard.steering.unanswered
                group.cancel_scope.cancel()
    finally:
        if isinstance(ohm, OhmOnDemand):
            await ohm.aclose()
    for words in unanswered:
        complain(f'Not answered: "{one_line(words)}".')
