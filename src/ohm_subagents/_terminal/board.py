"""The tasks of one command, as the terminal shows them: an observer of them all."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._app.sources import system_clock
from ohm_subagents._plugins.hooks.specs import hookimpl
from ohm_subagents._terminal.hint import Note, hint_lines
from ohm_subagents._terminal.prompts import answer_command, unbroken
from ohm_subagents._terminal.selection import STEPS, Selection
from ohm_subagents._terminal.shown import Leave, count_going_below
from ohm_subagents._terminal.terminal import is_terminal, prose_lines
from ohm_subagents._views.call_waits import ended_waits
from ohm_subagents._views.cells import wrapped
from ohm_subagents._views.live_task import LiveTask, as_of_now, with_patience
from ohm_subagents._views.screen import opened_lines, screen_lines, sum_line
from ohm_subagents._views.spans import painted
from ohm_subagents._views.theme import PLAIN
from ohm_subagents._views.tree import SPINNER, SPINNER_FRAME_MS
from ohm_subagents._views.tree_order import in_tree
from ohm_subagents.contract.events import (
    RequestReleased,
    RunEnded,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolStarted,
)
from ohm_subagents.contract.listed_task import ListedTask
from ohm_subagents.contract.requests import AnswerAwaited, AnswerGiven

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._terminal.shown import Shown
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract import Event, Request, Task, TaskId

_THINKING_CHARS: Final = 400
_MARGIN: Final = "  "
_ANSWER_CHARS: Final = 20_000
"""More than fits on a screen."""


class Board:
    """Give it to `Ohm.open(plugins=[board])`; `frame` draws what it has seen."""

    def __init__(self, theme: Theme = PLAIN, *, config: Path | None = None) -> None:
        """`config` is the ohm.json that was typed: the commands that it names need it too."""
        self.theme = theme
        self._config = config
        self.has_keys = False
        """Tell at the bottom of a frame which keys there are."""
        self.is_left = False
        """The key that stops leaves the tasks, which go on: they are not of this command."""
        self.note = Note()
        """A sentence in place of the keys, say about the last one."""
        self.selection = Selection()
        """The task that keys are about."""
        self.is_open = False
        """Show the chosen task alone."""
        self.back: Callable[[], Shown] | None = None
        """Leave it for the view from which it was opened, if it was."""
        self.news = anyio.Event()
        """Set, and replaced by a new one, when a task begins or ends to ask, or settles, or a key is about answers."""
        self._tasks: dict[TaskId, LiveTask] = {}

    @hookimpl
    def ohm_observers(self) -> Iterable[Observer]:
        """Offer it as a plugin."""
        return (self,)

    def show(self, task: Task) -> None:
        """Show a task as it is, such as one of another process, without any event."""
        self._tasks[task.id] = LiveTask(task)

    def notify(self, task: Task, event: Event) -> None:
        """Remember the state; drawing is another thread's work."""
        seen = self._tasks.get(task.id, LiveTask(task))
        match event:
            case ThinkingDelta(text=text):
                seen = seen._replace(thinking=f"{seen.thinking}{text}"[-_THINKING_CHARS:])
            case TextDelta() | ToolStarted() | RequestReleased() | RunEnded():
                seen = seen._replace(thinking="")
            case AnswerGiven():
                seen = seen._replace(waits=seen.waits + ended_waits(seen.task.requests, event, at_ms=task.updated_ms))
            case _:  # the state has all that the others tell, and a new one is not seen unless it is added above
                pass
        self._tasks[task.id] = seen._replace(task=task)
        if isinstance(event, TaskSettled | AnswerAwaited | AnswerGiven):
            self.tell_news()

    def tell_news(self) -> None:
        """Wake those who wait for news."""
        news, self.news = self.news, anyio.Event()
        news.set()

    @property
    def tasks(self) -> list[LiveTask]:
        """The tasks so far, each above those that its subagent has started."""
        seen = dict([*self._tasks.items()])  # a copy: it is drawn in another thread
        ordered = in_tree([*seen.values()], lambda one: (one.task.id, one.task.assignment.parent))
        return [one._replace(depth=depth) for depth, one in ordered]

    @property
    def asks_at_once(self) -> bool:
        """True if every task that has not settled waits for an answer."""
        return all(one.task.requests or one.task.is_terminal for one in self.tasks)

    @property
    def chosen_task(self) -> Task | None:
        """The task that was chosen, or the only one."""
        tasks = [one.task for one in self.tasks]
        return next((one for one in tasks if len(tasks) == 1 or one.id == self.selection.chosen), None)

    @property
    def follow_up_task(self) -> Task | None:
        """The task that a key is about: the chosen one, else the first that has not settled, else the first."""
        tasks = [one.task for one in self.tasks]
        chosen = [one for one in tasks if one.id == self.selection.chosen] or [
            one for one in tasks if not one.is_terminal
        ]
        return next(iter(chosen or tasks), None)

    @property
    def next_request(self) -> Request | None:
        """The request of the chosen task; where that asks nothing, of the first that does."""
        asking = [one.task for one in self.tasks if one.task.requests]
        chosen = [one for one in asking if one.id == self.selection.chosen]
        return next((one.requests[0] for one in chosen or asking), None)

    def task(self, task_id: TaskId) -> Task | None:
        """Return a shown task as it is now; None if it is not known."""
        seen = self._tasks.get(task_id)
        return None if seen is None else seen.task

    def sum_line(self, width: int) -> str:
        """Return what the tasks came to so far, without colours; empty for one."""
        tasks = with_patience(self.tasks, now_ms=system_clock())
        return "" if len(tasks) < 2 else sum_line(tasks, now_ms=system_clock(), width=width, theme=PLAIN)

    def going_below(self, task_id: TaskId) -> int:
        """Return how many tasks below one have not settled."""
        return count_going_below(task_id, (ListedTask.of(one.task) for one in self.tasks))

    def press(self, key: str) -> Shown | Leave | None:
        """Choose a task or none, open or close it, or leave; see `Shown`."""
        match key:
            case "q" | "\x1b" if self.back is not None and (key == "q" or not self.is_open):
                return self.back()
            case "q":
                return Leave.PROGRAM
            case "\n" | "\r":
                if self.selection.chosen is None:
                    self.move(0)
                self.is_open = not self.is_open
            case "\x1b" if self.is_open:
                self.is_open = False
            case "\x1b":
                self.selection.chosen = None
            case _ if key in STEPS:
                self.move(STEPS[key])
            case _:
                return None
        return self

    def move(self, step: int) -> None:
        """Choose the next task, or the one before."""
        self.selection.move([one.task.id for one in self.tasks], step)

    def frame(self, width: int, height: int) -> str:
        """Draw what happens now in at most `height` lines."""
        tasks, now_ms = self.tasks, system_clock()
        if not tasks:
            return f"  {SPINNER[now_ms // SPINNER_FRAME_MS % len(SPINNER)]} Starting…"
        hint = self._hint(tasks, width)
        tasks = [one._replace(is_answered_here=self.has_keys) for one in tasks]
        opened = self._opened(tasks) if self.is_open else []
        write = partial(opened_lines, opened) if opened else partial(screen_lines, tasks, chosen=self._marked)
        lines = write(now_ms=now_ms, width=width, height=height - len(hint), theme=self.theme)
        tasks = opened or tasks
        shown, room = tasks[0].task, height - len(hint) - len(lines) - 1
        is_alone = self.is_open or (self.back is not None and len(tasks) == 1)
        if is_alone and shown.is_terminal and room > 0:
            lines += ["", *_answer((shown.output or shown.text)[:_ANSWER_CHARS], width)[:room]]
        return "\n".join([*lines, *hint])

    @property
    def _marked(self) -> str | None:
        return self.selection.chosen if self.has_keys else None

    def _opened(self, tasks: Sequence[LiveTask]) -> list[LiveTask]:
        """Return the chosen one of these tasks, and then those below it."""
        top = next((at for at, one in enumerate(tasks) if one.task.id == self.selection.chosen), None)
        if top is None:
            return []
        depth = tasks[top].depth
        below = takewhile(lambda one: one.depth > depth, tasks[top + 1 :])
        return [as_of_now(one, tasks)._replace(depth=one.depth - depth) for one in (tasks[top], *below)]

    def _hint(self, tasks: Sequence[LiveTask], width: int) -> list[str]:
        """Return what is said below the tasks: a note, the keys, or without these how to answer the first that asks."""
        note = self.note.told(one.task for one in tasks)
        if note or self.has_keys:
            return hint_lines([("dim", key) for key in self._keys(tasks)], note, width, self.theme)
        asked = next((one.task.requests[0] for one in tasks if one.task.requests), None)
        lines = [] if asked is None else unbroken(answer_command(asked, self._config), max(1, width - len(_MARGIN)))
        return [painted([("", _MARGIN), ("warning", line)], width, self.theme) for line in lines]

    def _keys(self, tasks: Sequence[LiveTask]) -> list[str]:
        shown = [one.task for one in tasks if not self.is_open or one.task.id == self.selection.chosen]
        ways = [] if len(tasks) == 1 else ["Esc back"] if self.is_open else ["↑↓ choose ▸", "Enter open"]
        steer = ["s send", *(["a answer"] if any(one.requests for one in shown) else [])]
        if (self.is_left or self.back is not None or len(tasks) > 1) and any(not one.is_terminal for one in shown):
            steer.append("x cancel")
        goes_on = "task goes on" if len(tasks) == 1 else "tasks go on"
        leave = f"q leave ({goes_on})" if self.is_left else "q stop"
        if self.back is not None:
            leave = "q all tasks" if self.is_open and len(tasks) > 1 else "Esc all tasks"
        return [leave, *ways, *steer]


@lru_cache(maxsize=4)
def _answer(text: str, width: int) -> list[str]:
    """Return the lines of an answer, drawn once: on a terminal with its Markdown, as a command leaves it."""
    return [*(prose_lines(text) if is_terminal() else wrapped(text, width))]
