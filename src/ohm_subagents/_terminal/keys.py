"""Keys that are pressed while tasks are drawn: choose, open, send, answer, cancel, stop."""

from __future__ import annotations

import signal
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._terminal.command import complain
from ohm_subagents._terminal.key_reader import KeyReader
from ohm_subagents._terminal.on_demand import OhmOnDemand
from ohm_subagents._terminal.prompts import Prompts, WentBack, asker, typed_line, typing
from ohm_subagents._terminal.shown import Leave
from ohm_subagents._terminal.steering import Steering
from ohm_subagents._terminal.terminal import width
from ohm_subagents._views.cells import fit, one_line
from ohm_subagents._views.quantities import counted
from ohm_subagents._views.task_texts import task_title

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.abc import TaskGroup

    from ohm_subagents import Ohm
    from ohm_subagents._terminal.display import Display
    from ohm_subagents._terminal.shown import Front, Shown
    from ohm_subagents.contract import Request, TaskId
    from ohm_subagents.contract.requests import Answer

_TITLE_CELLS: Final = 50
_CHOOSE: Final = "Choose a task first: ↑ and ↓ move the ▸."


class Keyboard:
    """Obeys keys about the tasks that `display` draws, until `run` is cancelled."""

    def __init__(self, ohm: Ohm | OhmOnDemand, front: Front, display: Display, group: TaskGroup) -> None:
        self.steering = Steering(ohm)
        self.prompts = Prompts(self.lent_to_answer, self.who_asks, has_way_back=True)
        """Asks the person about requests of tasks that run here."""
        if isinstance(ohm, OhmOnDemand):
            ohm.prompts = self.prompts
        self._front = front
        self._display = display
        self._group = group
        self._reader = KeyReader(display)
        self._turn = anyio.Lock()
        self._pending: set[str] = set()
        """The requests that wait to be asked here."""
        self._wanted: str | None = None
        self._is_put_off = False
        """Ask nothing until the key for it is pressed."""
        self._doomed: TaskId | str | None = None
        """The task that the next `x` cancels, or `q`, which ends those that go on here: the last key was that too."""

    @property
    def _shown(self) -> Shown:
        return self._front.shown

    async def run(self) -> None:
        """Read keys and obey them, until the terminal is closed."""
        self._shown.has_keys = True
        async with aclosing(self._reader.keys()) as keys:
            async for key in keys:
                await self._obey(key)
        self._shown.has_keys = False

    @asynccontextmanager
    async def lent_to_answer(self, request: Request) -> AsyncGenerator[None]:
        """Wait until the person wants to answer this, or nothing else goes on; then lend the terminal."""
        self._pending.add(request.id)
        try:
            while True:
                while not self._is_due(request):
                    await self._shown.news.wait()
                async with self._turn:
                    if not self._is_due(request):  # somebody else was answered, and works again
                        continue
                    self._wanted = None
                    async with self._reader.lent():
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
        task = self._shown.task(request.task_id) or self.steering.task(request.task_id)
        return "\n".join(filter(None, [self._shown.sum_line(width()), place + asker(request, task)]))

    def _is_due(self, request: Request) -> bool:
        return request.id == self._wanted or (self._shown.asks_at_once and not self._is_put_off)

    async def _obey(self, key: str) -> None:
        shown = self._shown
        shown.note.say("")
        doomed, self._doomed = self._doomed, None
        match key:
            case "s":
                await self._send()
            case "x":
                self._cancel(doomed)
            case "a":
                self._answer()
            case "\x1b" if doomed is not None:
                pass
            case _:
                match shown.press(key):
                    case None:
                        return
                    case Leave():
                        self._leave(key, doomed)
                    case following:
                        self._front.show(following)
        self._display.refresh()

    def _leave(self, key: str, doomed: TaskId | str | None) -> None:
        """End the program as Ctrl-C does; where tasks that have come to run here end with it, at the second time."""
        ending = self.steering.ending_here
        if not ending or doomed == key:
            signal.raise_signal(signal.SIGINT)
            return
        self._doomed = key
        verb = "goes on here and ends" if ending == 1 else "go on here and end"
        self._shown.note.say(f"{counted(ending, 'task')} {verb} with this: {key} again / Esc")

    async def _send(self) -> None:
        """Let a follow-up be typed for the chosen task, and send it."""
        task, words = self._shown.follow_up_task, None
        if task is None:
            self._shown.note.say(_CHOOSE)
            return
        async with self._reader.lent():
            with suppress(WentBack), typing() as terminal:
                title = task_title(task.assignment.profile, task.assignment.description)
                complain(f"\nSend to {one_line(title)}; an empty line sends nothing:")
                words = await typed_line(terminal)
        if words and words.strip():
            self._shown.note.send(words.strip(), task)
            self._group.start_soon(self._sent, task.id, words.strip())

    async def _sent(self, task_id: TaskId, words: str) -> None:
        if refused := await self.steering.send(task_id, words):
            self._tell(refused)
            self._doomed = None  # the next `x` asks again
        else:
            self._shown.note.answered(words)

    def _cancel(self, doomed: TaskId | str | None) -> None:
        """Cancel the chosen task, and let the others go on; at the first time tell what that would cancel."""
        task = self._shown.chosen_task
        if task is None:
            self._shown.note.say(_CHOOSE)
        elif task.is_terminal:
            self._shown.note.say("It has ended.")
        elif task.id != doomed:
            self._doomed = task.id
            below = self._shown.going_below(task.id)
            also = f" and {counted(below, 'task')} below" if below else ""
            title = fit(one_line(task.assignment.description), _TITLE_CELLS) or task.id
            self._shown.note.say(f"Cancel {title}{also}? x again / Esc")
        else:
            self._group.start_soon(self._cancelled, task.id)

    async def _cancelled(self, task_id: TaskId) -> None:
        if refused := await self.steering.cancel(task_id):
            self._tell(refused)

    def _answer(self) -> None:
        """Let the request of the chosen task be answered; where that asks nothing, that of the first that does."""
        asked = self._shown.next_request
        if asked is None:
            return
        if asked.id not in self._pending:
            self._group.start_soon(self._answered_elsewhere, asked)
        else:
            self._wanted, self._is_put_off = asked.id, False
            self._shown.tell_news()

    async def _answered_elsewhere(self, asked: Request) -> None:
        """Ask about a request of a task that another process runs, or none any more, and give it the answer."""
        given: list[Answer] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._leave_once_closed, asked, group.cancel_scope)
            async with self._turn, self._reader.lent():
                with suppress(WentBack):
                    given.append(await self.prompts.asked_now(asked))
            group.cancel_scope.cancel()
        for answer in given:
            if told := await self.steering.answer(asked, answer):
                self._tell(told)

    async def _leave_once_closed(self, asked: Request, scope: anyio.CancelScope) -> None:
        """Stop asking once somebody else has answered."""
        while (task := self._shown.task(asked.task_id)) is not None and asked in task.requests:
            await self._shown.news.wait()
        self._tell("It asks that no longer.")
        scope.cancel()

    def _tell(self, sentence: str) -> None:
        self._shown.note.say(sentence)
        self._display.refresh()
