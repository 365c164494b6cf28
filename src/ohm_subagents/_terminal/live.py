"""The live display: frames of running tasks, drawn in place until they end, and keys that steer them."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._terminal.command import complain
from ohm_subagents._terminal.prompts import Prompts, answered_here
from ohm_subagents._terminal.signals import aborted_by_signal
from ohm_subagents._views.cells import one_line

if TYPE_CHECKING:
    import signal
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents import Ohm
    from ohm_subagents._plugins.suites.tool import ToolResult
    from ohm_subagents._terminal.board import Board


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
async def watched(ohm: Ohm | None, board: Board | None) -> AsyncGenerator[None]:
    """Draw the tasks of a board, obey keys, and ask the person at the terminal what subagents request.

    No board is no live display, and no keys. Without an `ohm` nobody is asked, and no key sends or cancels.
    """
    answered = nullcontext() if ohm is None else answered_here(ohm)
    if board is None:
        with answered:
            yield
        return
    if ohm is not None and (sys.stdin is None or not sys.stdin.isatty()):  # pyright: ignore[reportUnnecessaryComparison]  None when the shell closed it
        complain(_NO_KEYS)
    from ohm_subagents._terminal.display import drawn
    from ohm_subagents._terminal.keys import Keyboard, has_keyboard

    unanswered: Iterable[str] = ()
    with drawn(board.frame) as display:
        if not has_keyboard():
            with answered:
                yield
            return
        async with anyio.create_task_group() as group:
            keyboard = Keyboard(ohm, board, display, group)
            group.start_soon(keyboard.run)
            prompts = Prompts(keyboard.lent_to_answer, keyboard.who_asks, has_way_back=True)
            with nullcontext() if ohm is None else ohm.answering(prompts, by="terminal"):
                yield
            unanswered = keyboard.unanswered
            group.cancel_scope.cancel()
    for words in unanswered:
        complain(f'Not answered: "{one_line(words)}".')
