"""Keys that are pressed while tasks are drawn: choose, open, send, answer, cancel, stop."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._app.handle import Handle
from ohm_subagents._terminal.command import complain
from ohm_subagents._terminal.prompts import WentBack, asker, is_attended, typed_line, typing
from ohm_subagents._terminal.terminal import width
from ohm_subagents._views.cells import fit, one_line
from ohm_subagents._views.quantities import counted
from ohm_subagents._views.task_texts import task_title
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from anyio.abc import TaskGroup

    from ohm_subagents import Ohm
    from ohm_subagents._terminal.board import Board
    from ohm_subagents._terminal.display import Display
    from ohm_subagents.contract import Request, TaskId

_KEY: Final = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])?|[^\x1b]")
_STEPS: Final = {"\x1b[A": -1, "\x1bOA": -1, "k": -1, "\x1b[B": 1, "\x1bOB": 1, "j": 1, "\t": 1}
_BYTES: Final = 1024
_TITLE_CELLS: Final = 50


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

    def __init__(self, ohm: Ohm | None, board: Board, display: Display, group: TaskGroup) -> None:
        """Without an `ohm` nothing is sent or cancelled: the keys for it tell the commands that do so elsewhere."""
        self._ohm = ohm
        self._board = board
        self._display = display
        self._group = group
        self._reader = anyio.Lock()
        self._reading = anyio.CancelScope()
        self._borrowers = 0
        self._turn = anyio.Lock()
        self._pending: set[str] = set()
        """The requests that can be answered here."""
        self._wanted: str | None = None
        self._is_put_off = False
        """Ask nothing until the key for it is pressed."""
        self.unanswered: list[str] = []
        """The follow-ups that were typed, and that nothing has come of yet."""
        self._doomed: TaskId | None = None
        """The task that the next `x` cancels: the last key was `x` too, and was about it."""

    async def run(self) -> None:
        """Read keys and obey them, until the terminal is closed."""
        self._board.has_keys, self._board.is_told = True, self._ohm is None
        with _unechoed() as terminal:
            while (pressed := await self._pressed(terminal)) is not None:
                for key in _KEY.findall(pressed):
                    await self._obey(key)
        self._board.has_keys = False

    @asynccontextmanager
    async def lent_to_answer(self, request: Request) -> AsyncGenerator[None]:
        """Wait until the person wants to answer this, or nothing else goes on; then lend the terminal."""
        self._pending.add(request.id)
        try:
            while True:
                while not self._is_due(request):
                    await self._board.news.wait()
                async with self._turn:
                    if not self._is_due(request):  # somebody else was answered, and works again
                        continue
                    self._wanted = None
                    async with self._lent():
                        yield
                    return
        except WentBack:
            self._is_put_off = True
            raise
        finally:
            self._pending.discard(request.id)

    def who_asks(self, request: Request) -> str:
        """Return who asks, below what all tasks came to so far; of several requests, how many there are."""
        open_here = len(self._pending)
        place = f"1 of {open_here}: " if open_here > 1 else ""
        named = place + asker(request, None if self._ohm is None else self._ohm.task(request.task_id))
        return "\n".join(filter(None, [self._board.sum_line(width()), named]))

    def _is_due(self, request: Request) -> bool:
        return request.id == self._wanted or (self._board.asks_alone and not self._is_put_off)

    def _answer(self) -> None:
        """Let the request of the chosen task be answered; without a choice, that of the first that asks."""
        board = self._board
        chosen = [one.task for one in board.tasks if board.chosen in {None, one.task.id}]
        asked = next((one.requests[0] for one in chosen if one.requests), None)
        if asked is None:
            board.note = "It asks nothing: choose one that is ?." if board.asks else ""
        elif asked.id not in self._pending:
            board.note = board.how_to_answer(asked)
        else:
            self._wanted, self._is_put_off = asked.id, False
            board.tell_news()

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
        board = self._board
        board.note, board.heard_after = "", None
        doomed, self._doomed = self._doomed, None
        match key:
            case "q":
                signal.raise_signal(signal.SIGINT)
            case "\n" | "\r":
                if board.chosen is None:
                    board.move(0)
                board.is_open = not board.is_open
            case "\x1b":
                board.is_open = board.is_open and doomed is not None
            case "s":
                await self._send()
            case "x":
                self._cancel(doomed)
            case "a":
                self._answer()
            case _ if key in _STEPS:
                board.move(_STEPS[key])
            case _:
                return
        self._display.refresh()

    async def _send(self) -> None:
        """Let a follow-up be typed for the chosen task, and send it."""
        task, words = self._board.target, None
        if task is None:
            return
        if self._ohm is None:
            self._board.note = f'From elsewhere: ohm send {task.id} "…"'
            return
        async with self._lent():
            with suppress(WentBack), typing() as terminal:
                title = task_title(task.assignment.profile, task.assignment.description)
                complain(f"\nSend to {one_line(title)}; an empty line sends nothing:")
                words = await typed_line(terminal)
        if words and words.strip():
            opened = task.activity.open_calls
            self._board.note = f"Sent: {words.strip()}"
            self._board.heard_after = (task.id, opened[-1]) if opened else None
            self._group.start_soon(self._sent, self._ohm, task.id, words.strip())

    async def _sent(self, ohm: Ohm, task_id: TaskId, words: str) -> None:
        handle = ohm.handle(task_id)
        if isinstance(handle, Handle):
            self.unanswered.append(words)
            answer = await handle.send(words)
            if isinstance(answer, Err):
                self._board.note, self._doomed = str(answer.err_value), None  # the next `x` asks again
            else:
                self.unanswered.remove(words)

    def _cancel(self, doomed: TaskId | None) -> None:
        """Cancel the chosen task, and let the others go on; at the first time tell what that would cancel."""
        task = self._board.chosen_task
        if task is None:
            self._board.note = "Choose a task first: ↑ and ↓ move the ▸."
        elif task.is_terminal:
            self._board.note = "It has ended."
        elif self._ohm is None:
            self._board.note = f"From elsewhere: ohm cancel {task.id}"
        elif task.id != doomed:
            self._doomed = task.id
            below = self._board.going_below(task.id)
            also = f" and {counted(below, 'task')} below" if below else ""
            title = fit(one_line(task.assignment.description), _TITLE_CELLS) or task.id
            self._board.note = f"Cancel {title}{also}? x again / Esc"
        else:
            self._group.start_soon(self._cancelled, self._ohm, task.id)

    async def _cancelled(self, ohm: Ohm, task_id: TaskId) -> None:
        handle = ohm.handle(task_id)
        if isinstance(handle, Handle) and await handle.cancel():
            return
        done = await ohm.call("task", {"op": "cancel", "id": task_id})  # another process runs it
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
