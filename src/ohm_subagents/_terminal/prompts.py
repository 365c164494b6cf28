"""Requests of subagents, answered by the person at the terminal: one after the other, beside the live display."""

from __future__ import annotations

import os
import shutil
import sys
import termios
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from textwrap import indent
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._terminal.command import complain, with_config
from ohm_subagents._views.cells import cells, fit, one_line, printable, wrap
from ohm_subagents._views.request_texts import landing_text
from ohm_subagents._views.task_texts import task_title
from ohm_subagents._views.tool_calls import argument_lines, named_call
from ohm_subagents.contract.requests import Approve, Deny, Text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ohm_subagents import Ohm
    from ohm_subagents.contract.requests import Answer, Request
    from ohm_subagents.contract.task import Task

_MARGIN: Final = "  "
_CTRL_C: Final = "\x03"
_LINE_BYTES: Final = 4096
_TITLE_CELLS: Final = 100
_APPROVALS: Final[Mapping[str, Approve]] = {
    "y": Approve(),
    "t": Approve("task"),
    "a": Approve("always"),
}
_LANDING: Final = (
    "Type a letter, then Enter: [y] land it  [n] keep it apart  "
    "(Ctrl-C keeps it{}; `ohm land` and `ohm discard` decide later)"
)
_CHOICES: Final = (
    "Type a letter, then Enter: [y] once  [t] this call in this task  [a] this call in this directory, always  "
    "[n why] deny  (Ctrl-C denies{})"
)
_BACK: Final = ", Esc goes back"
_ESCAPE: Final = "\x1b"


class WentBack(Exception):  # noqa: N818  it is what has happened
    """Whoever was asked pressed Esc in place of an answer."""


def answer_hint(request: Request, config: Path | None = None, *, task: Task | None = None) -> str:
    """Return the lines by which whoever reads the log of a program learns of a request, and how to answer it.

    `config` is the ohm.json of `--config`: whoever answers needs it too. `task` is the one that
    asks, which is named by its title.
    """
    pieces = answer_command(request, config)
    lines = [f"{pieces[0]} {'  '.join(pieces[1:])}"]
    if sys.stderr.isatty():
        lines = unbroken(pieces, shutil.get_terminal_size().columns - len(_MARGIN))
    named = asker(request, task)
    who = named if task is None else f"{named} ({request.task_id})"
    return "\n".join([_shown(request, f"\n{who}"), *(f"{_MARGIN}{line}" for line in lines)])


def asker(request: Request, task: Task | None) -> str:
    """Return who asks, by the title of the task: of two with the same profile, it tells which one."""
    title = one_line(task_title(request.profile, "" if task is None else task.assignment.description))
    return f"{title} ({request.task_id})" if task is None else fit(title, _TITLE_CELLS)


def answer_command(request: Request, config: Path | None = None) -> list[str]:
    """Return the same way to answer in pieces, of which none may be broken: what is said, the command, what else."""
    command = f"{with_config('ohm answer', config)} {request.id}"
    if request.kind == "question":
        return ["Answer it with:", f"{command} text '…'"]
    return ["Answer it with:", f"{command} approve", "(or deny '<reason>')"]


def unbroken(pieces: Iterable[str], width: int) -> list[str]:
    """Put pieces side by side in lines of `width` cells: only one that is wider is broken, between words."""
    lines: list[str] = []
    for piece in map(one_line, pieces):
        if lines and cells(f"{lines[-1]} {piece}") <= width:
            lines[-1] += f" {piece}"
        else:
            lines += wrap(piece, width)
    return lines


def is_attended() -> bool:
    """Return True if a person can be asked: standard input and standard error are a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()  # pyright: ignore[reportUnnecessaryComparison]  None when the shell closed it


@contextmanager
def answered_here(ohm: Ohm) -> Generator[None]:
    """Ask the person at the terminal, if there is one, what subagents request until this is left."""

    def who(request: Request) -> str:
        return asker(request, ohm.task(request.task_id))

    with ohm.answering(Prompts(_free, who), by="terminal") if is_attended() else nullcontext():
        yield


@asynccontextmanager
async def _free(_request: Request) -> AsyncGenerator[None]:
    """Lend a terminal that nobody else uses."""
    yield


class Prompts:
    """Asks the person at the terminal, for one request after the other, each time that the terminal is lent."""

    def __init__(
        self,
        lent: Callable[[Request], AbstractAsyncContextManager[None]],
        who: Callable[[Request], str],
        *,
        has_way_back: bool = False,
    ) -> None:
        """`who` returns the one who asks, in words.

        `has_way_back`: whoever lends the terminal does so again, later, after `WentBack` was raised in the loan.
        """
        self._turn = anyio.Lock()
        self._lent = lent
        self._who = who
        self._back = _BACK if has_way_back else ""

    async def __call__(self, request: Request) -> Answer:
        """Return the person's answer. A request that is answered elsewhere is cancelled here."""
        while True:
            with suppress(WentBack):
                async with self._lent(request), self._turn:
                    return await self._asked(request)

    async def asked_now(self, request: Request) -> Answer:
        """Return the person's answer where the terminal is lent already; raises `WentBack` for Esc."""
        async with self._turn:
            return await self._asked(request)

    async def _asked(self, request: Request) -> Answer:
        with typing() as terminal:
            complain(_shown(request, f"\n{self._who(request)}"))
            if landing_text(request):
                return await self._agreed(terminal)
            return await (self._answered(request, terminal) if request.kind == "question" else self._judged(terminal))

    async def _agreed(self, terminal: int) -> Answer:
        while True:
            complain(_LANDING.format(self._back))
            typed = await typed_line(terminal)
            match "n" if typed is None else typed.strip().casefold():
                case "y":
                    return Approve()
                case "n":
                    return Deny()
                case other:
                    complain(f"'{one_line(other)}' is no answer: type y or n.")

    async def _judged(self, terminal: int) -> Answer:
        while True:
            complain(_CHOICES.format(self._back))
            typed = await typed_line(terminal)
            if typed is None:
                return Deny()
            letter, _, reason = typed.strip().partition(" ")
            choice = letter.casefold()
            if choice in _APPROVALS and not reason:
                return _APPROVALS[choice]
            if choice == "n" and reason:
                return Deny(reason.strip())
            if choice == "n":
                complain("Why? It is told to the subagent; may be empty.")
                return Deny((await typed_line(terminal) or "").strip())
            complain(f"'{one_line(typed)}' is no answer: type y, t, a or n.")

    async def _answered(self, request: Request, terminal: int) -> Answer:
        whose = "a number or your own answer" if request.options else "your answer"
        while True:
            complain(f"Type {whose}. (Ctrl-C denies{self._back})")
            typed = await typed_line(terminal)
            if typed is None:
                return Deny()
            if words := typed.strip():
                return text_answer(request, words)


def text_answer(request: Request, words: str) -> Text:
    """Return what somebody typed as the answer to a question: the number of an option is that option."""
    numbered = {f"{number}": option for number, option in enumerate(request.options, 1)}
    return Text(numbered.get(words.strip(), words))


def _shown(request: Request, who: str) -> str:
    if request.kind == "question":
        options = [f"  {number}) {option}" for number, option in enumerate(request.options, 1)]
        return "\n".join([f"{who} asks:", f"  {request.question}", *options])
    if changes := landing_text(request):
        return f"{who} has changed {changes} in its clone. Shall that land in your files?\n  {request.reason}"
    why = [f"  because of {request.reason}"] if request.reason else []
    said = argument_lines(named_call(request.tool, request.arguments))
    asked = [indent(printable(line), "    ").removeprefix("  ") for line in said]  # no line of it looks like ours
    return "\n".join([f"{who} wants to run {request.tool}:", *asked, *why])


@contextmanager
def typing() -> Generator[int]:
    """Let lines be typed in which Ctrl-C and Esc are letters that end them; what was typed before is no answer."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] = changed[3] & ~termios.ISIG | termios.ICANON | termios.ECHO
    changed[6][termios.VEOL], changed[6][termios.VEOL2] = _CTRL_C.encode(), _ESCAPE.encode()
    termios.tcsetattr(terminal, termios.TCSAFLUSH, changed)
    try:
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


async def typed_line(terminal: int) -> str | None:
    """Return a line that was typed; None for Ctrl-C, Ctrl-D and a terminal that was closed.

    Raises `WentBack` for Esc.
    """
    await anyio.wait_readable(terminal)
    try:
        typed = os.read(terminal, _LINE_BYTES).decode(errors="replace")
    except OSError:
        return None
    if _ESCAPE in typed:
        raise WentBack
    return None if not typed or _CTRL_C in typed else typed.rstrip("\n")
