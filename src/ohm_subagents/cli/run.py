"""`ohm run`: one task, live on a terminal, its answer alone in a pipe."""

from __future__ import annotations

import signal
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._terminal.live import watched
from ohm_subagents._terminal.prompts import answer_hint
from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    TASK_FAILED,
    chosen_server,
    complain,
    directory,
    find_task,
    is_attended,
    is_terminal,
    print_json,
    print_prose,
    print_refusal,
    print_text,
    report,
    until_signal,
    width,
    with_config,
)
from ohm_subagents.contract import AnswerAwaited, Category, CommandRejected, Err, ErrorCode, Ok
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.truncation import WHOLE
from ohm_subagents.views import changes_text, said_last, task_envelope, verified_line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from ohm_subagents import Ohm, RunOptions
    from ohm_subagents.commands import Board
    from ohm_subagents.contract import Envelope, Event, OhmError, Result, Task

    _Opened = tuple[Ohm, Board | None, frozenset[str]]
    _Ended = Result[Envelope, OhmError] | signal.Signals

_MISCONFIGURED: Final = frozenset(
    {
        ErrorCode.CONFIG_INVALID,
        ErrorCode.UNSUPPORTED_BACKEND,
        ErrorCode.BACKEND_OPTIONS_INVALID,
        ErrorCode.MODEL_UNKNOWN,
    }
)
_MISUSED: Final = frozenset({Category.VALIDATION, Category.NOT_FOUND})


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The options that `ohm run` and `ohm call` share."""

    cwd: Path
    config: Path | None
    as_json: bool
    server: str | None = None

    @classmethod
    def here(cls, cwd: Path, config: Path | None, *, as_json: bool) -> Typed:
        """Return those of a command that works in this process; leave with 2 for no readable directory."""
        return cls(cwd=directory(cwd, as_json=as_json), config=config, as_json=as_json)

    @classmethod
    def served(cls, server: str | None, cwd: Path, config: Path | None, *, as_json: bool) -> Typed:
        """Return the same of a command that starts tasks, which may be those of a server."""
        typed = cls.here(cwd, config, as_json=as_json)
        return replace(typed, server=chosen_server(server, cwd=typed.cwd, config=config))


def entries(typed: list[str] | None) -> list[str] | None:
    """Return the entries of a list of tools; None where the option was not given, and none for an empty one."""
    return None if typed is None else [one for one in typed if one.strip()]


async def run(profile: str, prompt: str, options: RunOptions, typed: Typed) -> int:
    """Run one task to its end and print it; return the exit code."""
    async with opened(typed) as place:
        return await _run(place, profile, prompt, options, typed)


def unquoted(leading: str, words: Sequence[str]) -> str:
    """Say that a prompt is one argument; `leading` is what comes before it."""
    return f'The prompt has to be one argument: put it in quotes, as in ohm run {leading} "{" ".join(words)}".'


async def resumed(task_id: str, words: Sequence[str], options: RunOptions, typed: Typed) -> int:
    """Run a task that goes on with the conversation of another, whose id, or a part of it, was typed.

    `words` is what was typed beside it, at least one: to be the prompt alone.
    """
    async with opened(typed) as place:
        ohm, *_ = place
        prompt, *more = words
        if fold_id(prompt) in {fold_id(profile.id) for profile in ohm.profiles}:
            said = ' "…"' if not more else f' "{" ".join(more)}"'
            missing = "" if more else ", and the prompt is missing"
            complain(
                f"Leave out '{prompt}': a resumed task keeps its subagent{missing}. "
                f"Type ohm run --resume {task_id}{said}."
            )
            return BAD_USAGE
        if more:
            complain(unquoted(f"--resume {task_id}", words))
            return BAD_USAGE
        task = find_task(task_id, ohm.store, ohm.config, op="start", file=typed.config, as_json=typed.as_json)
        if isinstance(task, int):
            return task
        worked_in = "" if task.launch is None else task.launch.cwd
        if worked_in and worked_in != f"{typed.cwd}":
            complain(f"warning: Task '{task.id}' worked in '{worked_in}'. To go on there, add --cwd '{worked_in}'.")
        going_on: RunOptions = {**options, "session": task.session_id}
        return await _run(place, task.assignment.profile, prompt, going_on, typed)


async def _run(place: _Opened, profile: str, prompt: str, options: RunOptions, typed: Typed) -> int:
    ohm, board, told = place
    watch = _Watch(typed, None if typed.server is None else board, is_drawn=board is not None)
    work = partial(ohm.run, profile, prompt, observer=watch, **options)
    async with watched(ohm, board), _with_those_below(ohm, None if typed.server is None else board):
        ended = await until_signal(work)
    if watch.task is not None:
        report(one for one in watch.task.diagnostics if one.text not in told)
    if typed.as_json:
        _print_envelope(ended, watch.task, ohm.config.subagent_backend)
    elif isinstance(loaded := ohm.inspect().loaded, Ok):  # else all that is to say has been reported
        _print_answer(ended, watch.task, board, told=told, file=typed.config)
        _tell_changes(watch.task, typed)
        if isinstance(ended, Err) and ended.err_value.code == ErrorCode.SUBAGENTS_DISABLED:
            complain(f"features.subagents is false: {loaded.ok_value.origin('features.subagents')}.")
    match ended:
        case Ok():
            return SUCCESS
        case Err(error):
            return exit_code(code=error.code, category=error.resolved_category, started=watch.task is not None)
        case signal.Signals():
            return 128 + ended


async def detached(profile: str, prompt: str, options: RunOptions, typed: Typed) -> int:
    """Start one task in a server, by default that of the user, print its id and leave it; return the exit code."""
    async with opened(replace(typed, server=typed.server or "auto")) as (ohm, _, told):
        handle = await ohm.start(profile, prompt, **options)
        if handle.id is not None:
            task = ohm.task(handle.id)
            report(() if task is None else (one for one in task.diagnostics if one.text not in told))
            print_json({"task_id": handle.id}) if typed.as_json else print_text(handle.id)
            return SUCCESS
        error = (await handle.wait()).unwrap_err()
        print_refusal(CommandRejected(error=error, backend=ohm.config.subagent_backend), as_json=typed.as_json)
        return exit_code(code=error.code, category=error.resolved_category, started=False)


@asynccontextmanager
async def _with_those_below(ohm: Ohm, board: Board | None) -> AsyncGenerator[None]:
    """Let a board that only the task itself is told to see those below it too, which a server runs."""
    if board is None:
        yield
        return
    from ohm_subagents.cli.follow import Below

    async with anyio.create_task_group() as group:
        group.start_soon(Below(ohm.store, board, group).watch)
        yield
        group.cancel_scope.cancel()


class _Watch:
    """Keeps the newest state of the task, and tells what its subagent requests, where nobody can be asked here.

    `board` is one that nobody else tells of the task; what is drawn tells of its requests itself.
    """

    def __init__(self, typed: Typed, board: Board | None, *, is_drawn: bool) -> None:
        self.task: Task | None = None
        self._config = typed.config
        self._board = board
        self._is_drawn = is_drawn

    def notify(self, task: Task, event: Event) -> None:
        """See `Observer`."""
        self.task = task
        if self._board is not None:
            self._board.notify(task, event)
        if isinstance(event, AnswerAwaited) and not self._is_drawn and not is_attended():
            complain(answer_hint(event.request, self._config, task=task))


@asynccontextmanager
async def opened(typed: Typed) -> AsyncGenerator[_Opened]:
    """Open an `Ohm`; report what is wrong with it, and at the end what else came up, say a task that was not kept.

    Yields it with a board of its tasks, where they are to be drawn, and the texts that were reported.
    """
    from ohm_subagents import Ohm
    from ohm_subagents.suite import asked_by

    board = None
    if is_terminal() and not typed.as_json:
        from ohm_subagents.commands import Board, terminal_theme

        board = Board(terminal_theme(), config=typed.config)
    plugins = [board] if board and typed.server is None else ()
    async with Ohm.open(cwd=typed.cwd, config=typed.config, server=typed.server, plugins=plugins) as ohm:
        reported = ohm.diagnostics
        report(reported)
        with asked_by("terminal"):
            yield ohm, board, frozenset(each.text for each in reported)
    report(each for each in ohm.diagnostics if each not in reported)


def exit_code(*, code: str, category: str, started: bool) -> int:
    """Return 2 for a failure by what was typed or configured, else 1.

    The category of a task that had started is about its work, no longer about what was typed.
    """
    return BAD_USAGE if code in _MISCONFIGURED or (category in _MISUSED and not started) else TASK_FAILED


def _print_envelope(ended: _Ended, task: Task | None, backend: str) -> None:
    """Print exactly one, however it ended."""
    match ended:
        case Ok(envelope):
            print_json(envelope.payload())
        case Err(error) if task is None:
            print_refusal(CommandRejected(error=error, backend=backend), as_json=True)
        case Err() | signal.Signals():
            if task is not None:
                print_json(task_envelope(task, output_max_chars=WHOLE).payload())


def _print_answer(
    ended: _Ended, task: Task | None, board: Board | None, *, told: frozenset[str], file: Path | None
) -> None:
    """Print a success on standard output; the verdict of its checks, a failure and its work on standard error.

    A failure whose text was `told` before, as a part of a diagnostic, is not told again. `file` is the ohm.json
    of `--config`.
    """
    match ended:
        case Ok():
            if board is None or task is None:
                print_prose(task.output if task else "")
                if task is not None and (verdict := verified_line(task)):
                    complain(f"checks {verdict}")
            else:
                _print_finished(task, board, file)
        case Err() | signal.Signals():
            if task is not None:
                _print_finished(task, board, file)
                if board is not None:
                    complain("")
            said = str(ended.err_value) if isinstance(ended, Err) else "Interrupted."
            if not any(said in text or said.endswith(text) for text in told):  # a diagnostic has its place apart
                complain(said)


def _tell_changes(task: Task | None, typed: Typed) -> None:
    """Say on standard error what the task has changed in a clone, and what can be done with it."""
    kept = None if task is None else task.activity.workspace
    if task is None or kept is None or not kept.files:
        return
    if kept.landed == "clean":
        complain(f"{changes_text(kept)}, landed uncommitted in your files.")
    elif kept.landed != "discarded":
        shown, made = (with_config(f"ohm {op} {task.id}", typed.config) for op in ("diff", "land"))
        if kept.landed == "conflict":
            complain(f"{changes_text(kept)}, of which nothing has landed, as they do not fit into your files:")
            complain("\n".join(f"  {reason}" for reason in kept.conflicts))
            complain(f"`{shown}` shows them; `{made}` tries again.")
            return
        complain(f"{changes_text(kept)}, kept apart: `{shown}` shows them, `{made}` makes them in your files.")


def _print_finished(task: Task, board: Board | None, file: Path | None) -> None:
    """Print what was done, and what was answered or said; without a terminal for standard output, on standard error."""
    from ohm_subagents._terminal.finished import finished_lines, print_finished

    if board is not None:
        waits = next((one.waits for one in board.tasks if one.task.id == task.id), ())
        print_finished(task, board.theme, waits=waits)
        return
    complain("\n".join(finished_lines(task, width=width())) + "\n")
    line, said = said_last(task, with_config(f"ohm task {task.id} --transcript", file))
    if said:
        complain(f"{line}\n{said}\n")
