"""Keys that are pressed while tasks are drawn: choose, open, send, answer, cancel, stop."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._app.handle import Handle
from ohm_subagents._terminal.command import complain
from ohm_subagents._terminal.prompts import is_attended, typed_line, typing
from ohm_subagents._views.cells import one_line
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from anyio.abc import TaskGroup

    from ohm_subagents import Ohm
    from ohm_subagents._terminal.board import Board
    from ohm_subagents._terminal.display import Display
    from ohm_subagents.contract import TaskId

_KEY: Final = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])?|[^\x1b]")
_STEPS: Final = {"\x1b[A": -1, "\x1bOA": -1, "k": -1, "\x1b[B": 1, "\x1bOB": 1, "j": 1, "\t": 1}
_BYTES: Final = 1024


def has_keyboard() -> bool:
    """Return True if somebody is there to press keys, and the terminal lets this process read them."""
    if not is_attended():
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # the terminal controls no processes, so it stops none that read in the background
        return True


class Keyboard:
    """Obeys keys about the tasks of a board, which `display` draws, until `run` is cancelled."""

    def __init__(self, ohm: Ohm, board: Board, display: Display, group: TaskGroup) -> None:
        self._ohm = ohm
        self._board = board
        self._display = display
        self._group = group
        self._reader = anyio.Lock()
        self._reading = anyio.CancelScope()
        self._borrowers = 0
        self._is_wanted = False

    async def run(self) -> None:
        """Read keys and obey them, until the terminal is closed."""
        self._board.has_keys = True
        with _unechoed() as terminal:
            while (pressed := await self._pressed(terminal)) is not None:
                for key in _KEY.findall(pressed):
                    await self._obey(key)
        self._board.has_keys = False

    @asynccontextmanager
    async def lent_to_answer(self) -> AsyncGenerator[None]:
        """Wait until the person wants to answer, or nothing else goes on; then lend the terminal."""
        while not (self._is_wanted or self._board.asks_alone):
            self._board.news = anyio.Event()
            await self._board.news.wait()
        self._is_wanted = False
        async with self._lent():
            yield

    @asynccontextmanager
    async def _lent(self) -> AsyncGenerator[None]:
        """Read no keys and draw nothing while this is open."""
        self._borrowers += 1
        self._reading.cancel()
        try:
            async with self._reader:
                with self._display.paused():
                    yield
        finally:
            self._borrowers -= 1

    async def _pressed(self, terminal: int) -> str | None:
        """Return the next keys, none if the terminal is to be lent; None once it is closed."""
        async with self._reader:
            if self._borrowers:  # one of them is next
                return ""
            with anyio.CancelScope() as self._reading:
                await anyio.wait_readable(terminal)
                try:
                    return os.read(terminal, _BYTES).decode(errors="replace") or None
                except OSError:
                    return None
        return ""

    async def _obey(self, key: str) -> None:
        board, board.note = self._board, ""
        match key:
            case "q":
                signal.raise_signal(signal.SIGINT)
            case "\n" | "\r":
                if board.chosen is None:
                    board.move(0)
                board.is_open = not board.is_open
            case "\x1b":
                board.is_open = False
            case "s":
                await self._send()
            case "x":
                self._cancel()
            case "a":
                self._is_wanted = board.asks
                board.news.set()
            case _ if key in _STEPS:
                board.move(_STEPS[key])
            case _:
                return
        self._display.refresh()

    async def _send(self) -> None:
        """Let a follow-up be typed for the chosen task, and send it."""
        task = self._board.target
        if task is None:
            return
        async with self._lent():
            with typing() as terminal:
                complain(f"\nSend to {one_line(task.assignment.profile)} ({task.id}); an empty line sends nothing:")
                words = await typed_line(terminal)
        if words and words.strip():
            self._board.note = f"Sent: {words.strip()}"
            self._group.start_soon(self._sent, task.id, words.strip())

    async def _sent(self, task_id: TaskId, words: str) -> None:
        handle = self._ohm.handle(task_id)
        if isinstance(handle, Handle):
            answer = await handle.send(words)
            if isinstance(answer, Err):
                self._board.note = str(answer.err_value)

    def _cancel(self) -> None:
        """Cancel the chosen task, and let the others go on."""
        task = None if self._board.chosen is None else self._board.target
        if task is None:
            self._board.note = "Choose a task first: ↑ and ↓ move the ▸."
        elif task.is_terminal:
            self._board.note = "It has ended."
        else:
            self._group.start_soon(self._cancelled, task.id)

    async def _cancelled(self, task_id: TaskId) -> None:
        handle = self._ohm.handle(task_id)
        if isinstance(handle, Handle) and await handle.cancel():
            return
        done = await self._ohm.call("task", {"op": "cancel", "id": task_id})  # another process runs it
        if done.is_error:
            self._board.note = one_line(f"{done.details.get('error') or done.text}")


async def pressed_keys() -> AsyncGenerator[str]:
    """Yield each key that is pressed, unseen, until the terminal is closed; none, and never, without a keyboard."""
    if not has_keyboard():
        await anyio.sleep_forever()
    with _unechoed() as terminal:
        while True:
            await anyio.wait_readable(terminal)
            try:
                pressed = os.read(terminal, _BYTES).decode(errors="replace")
            except OSError:
                return
            if not pressed:
                return
            for key in _KEY.findall(pressed):
                yield key


@contextmanager
def _unechoed() -> Generator[int]:
    """Get each key at once, and unseen; Ctrl-C stays a signal."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
    try:
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
